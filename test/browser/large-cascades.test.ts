import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { cpid, mergelogsRequest, spansRequest, type SpanSketch } from '../support/otlp-requests.ts'
import type { OtlpRequest } from '../support/rollout.ts'
import { Dashboard } from './support/dashboard.ts'

const ROOT = cpid(1)
const DEEPEST = 150
const WIDE = 9_800

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  await dashboard.send(largeCascade())
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test('a cascade of ten thousand spans is drawn, searched and scrolled without ten thousand elements', async () => {
  const page = await dashboard.open(`/cascades/${ROOT}?q=reconcile+9799`)
  const picture = page.getByRole('application', { name: /Flame graph by cause, 9,95\d spans/ })
  await picture.waitFor()
  await page.getByRole('status').getByText('1', { exact: true }).waitFor()
  await page.getByLabel('Search the spans').press('Enter')
  await page.getByRole('heading', { name: 'reconcile 9799' }).waitFor()

  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByLabel('Search the spans').fill('')
  const table = page.getByRole('table', { name: 'Spans by cause' })
  await table.getByRole('button', { name: 'reconcile 9799' }).waitFor()
  await table.evaluate((element) => element.scrollTo(0, 0))
  await table.getByRole('button', { name: 'change' }).waitFor()
  await eventually(async () => expect(await page.locator('*').count()).toBeLessThan(2_000))
})

test('nesting deeper than a hundred can be walked to its end', async () => {
  const page = await dashboard.open(`/cascades/${ROOT}`)
  const picture = page.getByRole('application', { name: /Flame graph by cause/ })
  await page.getByLabel('Search the spans').fill(`nested ${DEEPEST}`)
  await page.getByRole('status').getByText('1', { exact: true }).waitFor()
  await page.getByLabel('Search the spans').press('Enter')
  await page.getByRole('heading', { name: `nested ${DEEPEST}` }).waitFor()
  await picture.press('ArrowUp')
  await page.getByRole('heading', { name: `nested ${DEEPEST - 1}` }).waitFor()
})

/** Many spans side by side, some at the same time, and one chain of calls. */
function largeCascade(): OtlpRequest[] {
  const spans: SpanSketch[] = Array.from({ length: WIDE }, (_, at) => ({
    trace: at + 10,
    id: at + 10,
    name: `reconcile ${at}`,
    cpid: ROOT,
    start: at * 3,
    end: at * 3 + 1 + (at % 40),
  }))
  for (let depth = 1; depth <= DEEPEST; depth++) {
    spans.push({
      trace: 5,
      id: 100_000 + depth,
      name: `nested ${depth}`,
      cpid: ROOT,
      start: depth,
      end: 20_000 - depth,
      ...(depth > 1 && { parent: 100_000 + depth - 1 }),
    })
  }
  const requests: OtlpRequest[] = [{ signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: ROOT }]) }]
  for (let at = 0; at < spans.length; at += 2_000) {
    requests.push({ signal: 'traces', bytes: spansRequest(`controller-${at}`, spans.slice(at, at + 2_000)) })
  }
  return requests
}
