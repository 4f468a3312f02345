import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { accessibilityFaults, Dashboard, spans } from './support/dashboard.ts'

const DEPLOYMENT = 'apps/v1/deployments/default/web'
const [MADE, SCALED, MERGED] = [cpid(1), cpid(2), cpid(3)]
const MINUTE = 60_000
const WIDTHS = [390, 768, 1280]

let dashboard: Dashboard

/** One makes a Deployment; two minutes later another scales it, which is merged with the first and drives what follows. */
beforeAll(async () => {
  dashboard = await Dashboard.start()
  const told = { trace: 3, id: 3 }
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [
        { new: MADE, object: DEPLOYMENT, reason: 'creation by bob', told: { trace: 1, id: 1 } },
        { new: SCALED, object: DEPLOYMENT, reason: 'scale by alice', time: 2 * MINUTE, told },
        { new: MERGED, sources: [MADE, SCALED], object: DEPLOYMENT, time: 2 * MINUTE, told },
      ]),
    },
    spans('kubectl', [
      { trace: 1, id: 1, cpid: MADE, attributes: { 'cpid.wrote': [`${DEPLOYMENT}?rv=10`] } },
      {
        trace: 3,
        id: 3,
        cpid: MERGED,
        name: 'scale Deployment',
        start: 2 * MINUTE,
        end: 2 * MINUTE + 900,
        status: 2,
        attributes: { 'cpid.observed': [`${DEPLOYMENT}?rv=10`], 'cpid.wrote': [`${DEPLOYMENT}?rv=20`] },
      },
    ]),
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each(WIDTHS)(
  'spans that other changes drive are marked and their changes named, %i pixels wide',
  async (width) => {
    const page = await dashboard.open(`/cascades/${MADE}`, { viewport: { width, height: 800 } })
    await page.getByText(/1 driven by other changes/).waitFor()
    await page.getByRole('list', { name: 'Colours' }).getByText('driven by another change').waitFor()
    const other = page.getByRole('link', { name: 'alice scaled deployment web, 2 min 0 s after' })
    await other.waitFor()
    expect(await page.getByRole('button', { name: 'First failure' }).count()).toBe(0)
    expect(await accessibilityFaults(page)).toEqual([])
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect(widerBy).toBe(0)
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('row', { name: /scale Deployment kubectl .*another change/ }).waitFor()
    await page.getByRole('button', { name: 'scale Deployment' }).click()
    await page
      .getByRole('complementary', { name: 'Span' })
      .getByRole('link', { name: /alice scaled/ })
      .click()
    await page.waitForURL((url) => url.pathname === `/cascades/${SCALED}`)
    await page.getByRole('button', { name: 'First failure' }).waitFor()
  },
)

test('the merge graph and its table name the other change', async () => {
  const graph = await dashboard.open(`/cpids/${MADE}`)
  await graph.getByRole('link', { name: /alice scaled deployment web 2 min 0 s after/ }).waitFor()
  const table = await dashboard.open(`/cpids/${MADE}?view=table`)
  await table.getByRole('link', { name: 'alice scaled deployment web, 2 min 0 s after' }).waitFor()
})
