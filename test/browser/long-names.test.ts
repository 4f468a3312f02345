import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { Dashboard, spans } from './support/dashboard.ts'

/** As long as Kubernetes allows, and without a place to break. */
const NAME = 'n'.repeat(253)
const SERVICE = 's'.repeat(253)
const OBJECT = `apps/v1/deployments/${'x'.repeat(63)}/${NAME}`
const VIEWS = ['flame', 'critical', 'tree', 'objects', 'times', 'merges']

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest(SERVICE, [
        { new: cpid(1), object: OBJECT, reason: 'r'.repeat(253) },
        { new: cpid(2), object: 'v1/configmaps/shop/late' },
      ]),
    },
    spans(SERVICE, [
      {
        ...{ trace: 1, id: 1, cpid: cpid(1), name: NAME, start: 0, end: 5 },
        attributes: { 'cpid.wrote': [`${OBJECT}?rv=1`] },
      },
      {
        ...{ trace: 1, id: 2, cpid: cpid(1), name: NAME, start: 20, end: 500 },
        attributes: { 'cpid.observed': [`${OBJECT}?rv=1`] },
      },
    ]),
    spans('kubectl', [
      { trace: 2, id: 3, cpid: cpid(2), name: 'begin', start: 0, end: 5 },
      { trace: 2, id: 4, cpid: cpid(2), name: 'after many years', start: 10 ** 12, end: 10 ** 12 + 9_000 },
    ]),
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each([390, 1280])('at %i pixels no page is wider for long names', async (width) => {
  const views = [...VIEWS.map((named) => `view=${named}`), 'as=table']
  for (const path of ['/', `/cpids/${cpid(1)}`, ...views.map((view) => `/cascades/${cpid(1)}?${view}`)]) {
    const page = await dashboard.open(path, { viewport: { width, height: 800 } })
    await page.locator('main h1').first().waitFor()
    await page.waitForLoadState('networkidle')
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect([path, widerBy]).toEqual([path, 0])
  }
})

test('the longest step of a cascade with a wrong clock is one within its time, and no share is shown for it', async () => {
  const page = await dashboard.open(`/cascades/${cpid(2)}`)
  const step = page.getByText('Longest step:')
  await step.waitFor()
  expect(await step.textContent()).toBe('Longest step: begin of kubectl, 5.00 ms.')
})
