import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { Dashboard } from './support/dashboard.ts'

const ROOT = cpid(1)
const SPANS = 100_000
const AT_ONCE = 2_000
const OF_POD = 10
/** Whatever a cascade has, a view of it has no more. */
const MOST_ELEMENTS = 3_000
const LONGEST_MS = 300_000

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  await dashboard.send([{ signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: ROOT }]) }])
  for (let from = 0; from < SPANS; from += AT_ONCE) await dashboard.send([pods(from)])
  await eventually(async () => {
    const { cascades } = (await (await fetch(`${dashboard.url}/api/v1/cascades`)).json()) as {
      cascades: { spans: number }[]
    }
    expect(cascades[0]?.spans).toBe(SPANS)
  }, 120_000)
}, LONGEST_MS)
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each([1280, 820, 390])(
  'a cascade of a hundred thousand spans stays usable at %i pixels',
  async (width) => {
    const page = await dashboard.open(`/cascades/${ROOT}`, { viewport: { width, height: 800 } })
    const fewElements = () =>
      eventually(async () => expect(await page.locator('*').count()).toBeLessThan(MOST_ELEMENTS))
    const nothingCutOff = async () =>
      expect(
        await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'),
      ).toBe(0)
    await page.getByRole('application', { name: /Flame graph by cause, 100,0\d\d spans/ }).waitFor()
    await fewElements()
    await nothingCutOff()

    await page.getByLabel('Search the spans').fill('pod 45670')
    await page.getByText('not at attributes').waitFor()
    await page.getByLabel('Search the spans').press('Enter')
    await page.getByRole('heading', { name: 'reconcile pod 45670', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('table', { name: 'Spans by cause' }).getByText('reconcile pod 45670').waitFor()
    await fewElements()
    await nothingCutOff()

    await page.getByRole('tab', { name: 'Object tree' }).click()
    await page.getByText('more objects, which are neither shown nor counted here').waitFor()
    await page.getByRole('list', { name: 'Objects, owners first' }).getByText('988 more').waitFor()
    await fewElements()
    await nothingCutOff()

    await page.getByRole('tab', { name: 'Objects', exact: true }).click()
    await page.getByRole('button', { name: 'Show 200 of 99,800 more' }).waitFor()
    await fewElements()
    await nothingCutOff()
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('application', { name: /Gantt chart of 100,000 objects/ }).waitFor()
    await fewElements()
    await nothingCutOff()
    await page.context().close()
  },
  LONGEST_MS,
)

/** Of each Pod a reconcile and calls in it, each of which writes an object of its own. */
function pods(from: number) {
  const spans = Array.from({ length: AT_ONCE }, (_, at) => {
    const number = from + at
    const isTop = number % OF_POD === 0
    return {
      ...{ trace: 10 + Math.floor(number / OF_POD), id: 10 + number, cpid: ROOT },
      ...{ start: number * 3, end: number * 3 + 40 },
      ...(isTop
        ? { name: `reconcile pod ${number}` }
        : { name: `update ${number}`, parent: 10 + number - 1 }),
      attributes: { 'cpid.wrote': [`v1/configmaps/default/web-${number}?rv=${number}`] },
    }
  })
  return { signal: 'traces' as const, bytes: spansRequest(`controller-${(from / AT_ONCE) % 20}`, spans) }
}
