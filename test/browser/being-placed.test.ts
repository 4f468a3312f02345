import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest, type SpanSketch } from '../support/otlp-requests.ts'
import type { OtlpRequest } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const DEPLOYMENT = 'apps/v1/deployments/default/web'
const CASCADE = `/cascades/${cpid(1)}`

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start({ wait: '10m' })
  await dashboard.send([
    { signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: cpid(1), object: DEPLOYMENT }]) },
    spans('kubectl', { id: 1, name: 'apply', end: 20, attributes: { 'cpid.wrote': [`${DEPLOYMENT}?rv=1`] } }),
    spans('operator', { id: 22, trace: 2, parent: 2, name: 'PUT', start: 70, end: 90 }),
    spans('operator', {
      ...{ id: 2, trace: 2, name: 'reconcile', start: 60, end: 100 },
      attributes: { 'cpid.observed': [`${DEPLOYMENT}?rv=2`] },
    }),
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

function spans(service: string, span: Partial<SpanSketch> & { id: number }): OtlpRequest {
  const sketch = { trace: 1, start: 0, cpid: cpid(1), ...span }
  return { signal: 'traces', bytes: spansRequest(service, [sketch]) }
}

test.each(['light', 'dark'] as const)(
  'the page names the spans that are being placed, in the %s scheme too',
  async (colorScheme) => {
    const page = await dashboard.open(CASCADE, { colorScheme })
    await page.getByText('One span is being placed').waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    await page.context().close()
  },
)

test('a span that waits is in picture and table above what is below it, and follows once it is placed', async () => {
  const page = await dashboard.open(CASCADE)
  await page.getByText('Longest step: apply of kubectl').waitFor()
  const canvas = page.getByRole('application', { name: /Flame graph/ })
  await canvas.focus()
  const status = page.getByRole('status')
  for (const name of ['apply', 'reconcile']) {
    await page.keyboard.press(name === 'apply' ? 'ArrowDown' : 'ArrowRight')
    if (name === 'apply') await page.keyboard.press('ArrowDown')
    await status.filter({ hasText: name }).waitFor()
  }
  await status.filter({ hasText: /reconcile, operator, .*, being placed/ }).waitFor()
  const details = page.getByRole('complementary', { name: 'Span' })
  await details.getByText('It is being placed').waitFor()
  expect(await details.getByRole('link', { name: /tracing backend/ }).count()).toBe(0)
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('row', { name: /reconcile operator .*being placed/ }).waitFor()
  const rows = await page.getByRole('cell').getByRole('button').allTextContents()
  expect(rows).toEqual(['change apps/v1/deployments', 'apply', 'reconcile', 'PUT'])

  const label = { id: 4, name: 'label', start: 30, end: 40 }
  await dashboard.send([spans('kubectl', { ...label, attributes: { 'cpid.wrote': [`${DEPLOYMENT}?rv=2`] } })])
  await page.getByText('One span is being placed').waitFor({ state: 'detached' })
  await page.getByRole('row', { name: /reconcile operator .*critical/ }).waitFor()
  await details.getByText('cpid.observed').waitFor()
  await details.getByRole('link', { name: /tracing backend/ }).waitFor()
})
