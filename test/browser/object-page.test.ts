import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { rollout, type Rollout } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const WIDTHS = [390, 768, 1280]

let dashboard: Dashboard
let web: Rollout

beforeAll(async () => {
  dashboard = await Dashboard.start()
  web = rollout({ number: 1, atMs: 0, name: 'web', pods: 3 })
  await dashboard.send(web.requests)
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

const open = (path: string, width = 1280) => dashboard.open(path, { viewport: { width, height: 800 } })

test.each(WIDTHS)(
  'at %i pixels each version of an object that controllers report says why, from what, and in which change',
  async (width) => {
    const page = await open('/objects?ref=apps/v1/replicasets/default/web-7c9f6', width)
    const made = page.getByRole('row').filter({ hasText: 'reconcile Deployment' })
    await made.getByText('reported', { exact: true }).waitFor()
    await made.getByRole('link', { name: 'deployments default/web' }).first().waitFor()
    await made.getByRole('link', { name: /^kubectl applied deployment web, .* before$/ }).waitFor()
    await page.getByText('What these words mean').click()
    await page.getByText('The controller itself reported').waitFor()
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect(widerBy).toBe(0)
    const isCut = await page.locator('.table-scroll').evaluate((box) => box.scrollWidth > box.clientWidth)
    expect(isCut).toBe(false)
    expect(await accessibilityFaults(page)).toEqual([])
  },
)

test('the first version of an object says that a change began with it, and leads to that', async () => {
  const page = await open('/objects?ref=apps/v1/deployments/default/web')
  const first = page.getByRole('row').filter({ hasText: 'kubectl apply -f deployment.yaml' })
  await first.getByText('began a change').waitFor()
  await first.getByRole('link', { name: /^kubectl applied deployment web/ }).click()
  await page.waitForURL((url) => url.pathname === `/cascades/${web.alpha}`)
})

test('an object of controllers that report themselves says why it is so, through what each had read', async () => {
  const page = await open('/objects?ref=apps/v1/replicasets/default/web-7c9f6&view=why')
  const steps = page.getByRole('list', { name: /What led to it/ })
  await steps.getByText('kubectl applied deployment web').waitFor()
  await page.getByText('another change').waitFor({ state: 'detached' })
})

test('all that happened to an object names the changes, not their digits alone', async () => {
  const page = await open('/objects?ref=apps/v1/replicasets/default/web-7c9f6&view=history')
  await page
    .getByRole('link', { name: /^kubectl applied deployment web/ })
    .first()
    .waitFor()
})
