import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, logsRequest } from '../support/otlp-requests.ts'
import { rollout, type Rollout } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const WIDTHS = [390, 768, 1280]
const MANY = 700

let dashboard: Dashboard
let web: Rollout

beforeAll(async () => {
  dashboard = await Dashboard.start()
  web = rollout({ number: 1, atMs: 0, name: 'web', pods: 3 })
  const event = (time: number, reason: string, severity = 9) => ({
    body: `${reason} in words`,
    cpid: web.alpha,
    time,
    severity,
    attributes: { 'k8s.event.reason': reason },
  })
  await dashboard.send([
    ...web.requests,
    {
      signal: 'logs',
      bytes: logsRequest('kubelet', [
        event(400, 'Scheduled'),
        event(700, 'FailedMount', 13),
        event(3_600_000, 'Unhealthy', 13),
        { body: 'of another change', cpid: cpid(77), time: 500 },
      ]),
    },
    {
      signal: 'logs',
      bytes: logsRequest(
        'busy',
        Array.from({ length: MANY }, (_, at) => ({
          body: `line ${at}`,
          cpid: web.alpha,
          time: 900 + at / 100,
        })),
      ),
    },
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each(WIDTHS)('at %i pixels events stand on the time axis of the graph, and open', async (width) => {
  const page = await dashboard.open(`/cascades/${web.alpha}`, { viewport: { width, height: 900 } })
  const strip = page.getByRole('group', { name: 'Events and logs in time' })
  await strip
    .getByRole('button', { name: /after what is in view, 1 of them warnings or errors: Unhealthy/ })
    .waitFor()
  const failed = strip.getByRole('button', { name: /warnings or errors: FailedMount/ })
  await failed.press('Enter')
  const list = page.getByRole('list', { name: 'Events and logs' })
  await list.getByText('FailedMount in words').waitFor()
  expect(await page.getByText('of another change').count()).toBe(0)
  const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
  expect(widerBy).toBe(0)
  expect(await accessibilityFaults(page)).toEqual([])
  await failed.press('Enter')
  await list.waitFor({ state: 'detached' })
})

test('events stand where the graph has their time, also when zoomed, beside the spans and beside objects', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?zoom=300to500`)
  const strip = page.getByRole('group', { name: 'Events and logs in time' })
  const scheduled = strip.getByRole('button', { name: /: Scheduled/ })
  await scheduled.waitFor()
  const middleOf = async (): Promise<number> => {
    const box = await scheduled.boundingBox()
    const track = await strip.boundingBox()
    if (box === null || track === null) throw new Error('not shown')
    return (box.x + box.width / 2 - track.x) / track.width
  }
  expect(Math.abs((await middleOf()) - 0.5)).toBeLessThan(0.02)
  const tick = await strip.locator('.event-tick').getAttribute('style')
  expect(tick).toMatch(/left: 50%/)
  await page.goto(`${dashboard.url}/cascades/${web.alpha}?view=objects&zoom=350to550`)
  await scheduled.waitFor()
  expect(Math.abs((await middleOf()) - 0.25)).toBeLessThan(0.02)
})

test('events that are close together share a button that says how many, and the table has them all', async () => {
  const page = await dashboard.open(`/cascades/${web.alpha}?zoom=895to915`)
  const strip = page.getByRole('group', { name: 'Events and logs in time' })
  await strip
    .getByRole('button', { name: /^\d{2,} events/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByText(/^Events and logs \(70\d/).click()
  await page.getByRole('list', { name: 'Events and logs' }).getByText('Scheduled in words').waitFor()
})
