import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest, type SpanSketch } from '../support/otlp-requests.ts'
import { rollout, type OtlpRequest } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const POD = 'v1/pods/shop/cart'
const KUBELET = 'system:node:a'

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [
        { new: cpid(1), object: 'v1/nodes/a?rv=4', reason: 'authored by bob' },
      ]),
    },
    seen('kubectl', { name: 'patch v1/nodes', start: 0, end: 40 }, 'operator', {
      'user.name': 'bob',
      'cpid.wrote': ['v1/nodes/a?rv=5'],
    }),
    seen('taint-eviction-controller', { name: 'delete v1/pods', start: 60, end: 120 }, 'exact', {
      'user.name': 'system:serviceaccount:kube-system:taints',
      'cpid.observed': ['v1/nodes/a?rv=5'],
      'cpid.wrote': [`${POD}?rv=6`],
    }),
    seen('kubelet', { name: 'update v1/pods status', start: 150, end: 200 }, 'inferred', {
      'user.name': KUBELET,
      'cpid.gap': true,
      'cpid.observed': [`${POD}?rv=6`],
      'cpid.wrote': [`${POD}?rv=9`],
    }),
    ...rollout({ number: 2, atMs: 0, name: 'web', pods: 1 }).requests,
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

let spans = 0

/** A write as inference tells of it. */
function seen(
  service: string,
  span: Partial<SpanSketch>,
  cause: string,
  attributes: Record<string, unknown>,
): OtlpRequest {
  spans++
  const sketch = { trace: spans, id: spans, cpid: cpid(1), ...span }
  const bytes = spansRequest(service, [{ ...sketch, attributes: { 'cpid.cause': cause, ...attributes } }])
  return { signal: 'traces', bytes }
}

test('the list says who began a cascade and what was not seen, and is filtered by actor and namespace', async () => {
  const page = await dashboard.open('/')
  const nodes = page.getByRole('row', { name: /nodes a/ })
  await nodes.getByText('bob', { exact: true }).waitFor()
  await nodes.getByText('changed', { exact: true }).waitFor()
  await nodes.getByText('1 gap').waitFor()
  await page.getByRole('row', { name: /deployments default\/web/ }).waitFor()
  await page.getByLabel('Namespace').fill('shop')
  await page.waitForURL((url) => url.search === '?namespace=shop')
  await page.getByRole('row', { name: /deployments default\/web/ }).waitFor({ state: 'detached' })
  await nodes.waitFor()
  const narrow = await dashboard.open('/', { viewport: { width: 390, height: 800 } })
  const service = narrow.getByRole('row', { name: /services default\/web applied/ }).locator('[data-label]')
  await service.first().waitFor()
  expect(await service.evaluateAll((cells) => cells.map(({ dataset }) => dataset['label']))).toEqual([
    'spans',
    'failed',
    'service',
    'merge',
    'missing',
  ])
  const mine = await dashboard.open('/?actor=alice')
  await mine.getByText('No cascade matches these filters').waitFor()
  await mine.getByRole('button', { name: 'Clear' }).click()
  await mine.getByLabel('Actor').fill(KUBELET)
  await mine.waitForURL((url) => url.search === `?actor=${encodeURIComponent(KUBELET)}`)
  await mine.getByRole('row', { name: /deployments default\/web/ }).waitFor({ state: 'detached' })
  await mine.getByRole('row', { name: /nodes a/ }).waitFor()
})

test('where nobody knows how long writes took, no step is the longest', async () => {
  const write = (id: number, service: string, start: number): OtlpRequest => {
    const attributes = { 'cpid.cause': id === 801 ? 'operator' : 'inferred' }
    const wrote = { 'cpid.wrote': [`v1/pods/shop/short?rv=${id}`] }
    const observed = id === 801 ? {} : { 'cpid.observed': ['v1/pods/shop/short?rv=801'] }
    const sketch = { trace: id, id, cpid: cpid(8), name: `write ${id}`, start, end: start + 1e-6 }
    const bytes = spansRequest(service, [{ ...sketch, attributes: { ...attributes, ...wrote, ...observed } }])
    return { signal: 'traces', bytes }
  }
  await dashboard.send([
    { signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: cpid(8) }]) },
    write(801, 'kubectl', 0),
    write(802, 'kubelet', 200),
  ])
  const page = await dashboard.open(`/cascades/${cpid(8)}`)
  await page.getByText('Longest wait: 200 ms before write 802 of kubelet.').waitFor()
  expect(await page.getByText('Longest step').count()).toBe(0)
})

test('a cascade shows the cause of each write, and that versions before one were not seen', async () => {
  const page = await dashboard.open(`/cascades/${cpid(1)}`)
  await page.getByText('Before one write of this cascade').waitFor()
  for (const word of [
    'by an operator',
    'cause known',
    'cause inferred',
    'gap: versions before it were not seen',
  ])
    await page.getByRole('listitem').filter({ hasText: word }).waitFor()
  await page.getByRole('button', { name: 'Table' }).click()
  await page.getByRole('row', { name: /patch v1\/nodes kubectl bob .*operator/ }).waitFor()
  await page.getByRole('row', { name: /delete v1\/pods .*taints .*exact/ }).waitFor()
  await page
    .getByRole('row', { name: /update v1\/pods status kubelet system:node:a .*inferred, gap/ })
    .waitFor()
  await page.getByRole('searchbox', { name: 'Search the spans' }).fill('bob')
  await page.getByRole('row', { name: /delete v1\/pods/ }).waitFor({ state: 'detached' })
  await page.getByRole('searchbox', { name: 'Search the spans' }).fill('')
  await page.getByRole('button', { name: 'update v1/pods status' }).click()
  const details = page.getByRole('complementary', { name: 'Span' })
  await details.getByText('This write follows from the newest versions').waitFor()
  await details.getByText('Versions of the object before this one were not observed.').waitFor()
  await details.getByRole('link', { name: KUBELET }).click()
  await page.getByRole('heading', { name: 'Cascades' }).waitFor()
  expect(new URL(page.url()).search).toBe(`?actor=${encodeURIComponent(KUBELET)}`)
})

test('the timeline shows the person before the write, and describes the span that is pointed at or chosen', async () => {
  const page = await dashboard.open(`/cascades/${cpid(1)}`)
  const canvas = page.getByRole('application', { name: /Flame graph/ })
  await canvas.focus()
  for (let at = 0; at < 2; at++) await page.keyboard.press('ArrowDown')
  await page
    .getByRole('status')
    .filter({ hasText: /patch v1\/nodes, kubectl, by bob, begun by an operator/ })
    .waitFor()
  for (let at = 0; at < 2; at++) await page.keyboard.press('ArrowDown')
  await page
    .getByRole('status')
    .filter({ hasText: /by system:node:a, inferred, versions before it were not seen/ })
    .waitFor()
})

test('an object has its versions: who wrote each, why, from what, in which cascade', async () => {
  const page = await dashboard.open(`/objects?ref=${POD}`)
  const rows = page.getByRole('row')
  const change = rows.nth(1).getByRole('link', { name: /^bob changed node a, / })
  await change.waitFor()
  expect(await rows.nth(1).getByRole('cell').allTextContents()).toEqual([
    expect.stringMatching(/^\d\d/),
    'update v1/pods status',
    'kubeletsystem:node:a',
    'inferredgap',
    'pods shop/cart 6',
    expect.stringMatching(/^bob changed node a, /),
  ])
  expect(await rows.nth(2).getByRole('cell').allTextContents()).toEqual(
    expect.arrayContaining(['exact', 'nodes a 5']),
  )
  await change.click()
  await page.getByRole('complementary', { name: 'Span' }).getByText(KUBELET).first().waitFor()
  const never = await dashboard.open('/objects?ref=v1/nodes/b')
  await never.getByText('No version of it is known').waitFor()
  await never.getByRole('link', { name: 'All that happened' }).click()
  await never.getByText('Nothing is known of this object').waitFor()
})

test('lower versions come on request, each once', async () => {
  const wrote = Array.from({ length: 130 }, (_, at) => ({
    trace: 5_000 + at,
    id: 5_000 + at,
    cpid: cpid(1),
    attributes: { 'cpid.wrote': [`v1/pods/shop/busy?rv=${at + 1}`] },
  }))
  await dashboard.send([{ signal: 'traces', bytes: spansRequest('kubelet', wrote) }])
  const page = await dashboard.open('/objects?ref=v1/pods/shop/busy')
  await page.getByRole('button', { name: 'Lower versions' }).click()
  // The button is called otherwise while they are asked for.
  await page.getByRole('rowheader', { name: '1', exact: true }).waitFor()
  const versions = await page.getByRole('rowheader').allTextContents()
  expect(versions).toEqual(wrote.map((_, at) => String(130 - at)))
})

test('what is found is narrowed down by namespace and actor', async () => {
  const page = await dashboard.open('/find?q=v1/')
  await page.getByRole('link', { name: 'pods shop/cart' }).waitFor()
  await page.getByRole('link', { name: 'nodes a', exact: true }).first().waitFor()
  await page.getByLabel('Namespace').fill('shop')
  await page.getByRole('link', { name: 'services default/web' }).first().waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'pods shop/cart' }).waitFor()
  await page.getByLabel('Actor').fill('nobody')
  await page.keyboard.press('Enter')
  await page.getByText('Nothing matches these filters').waitFor()
})

test.each([
  ['the cascade', `/cascades/${cpid(1)}`, /cause inferred/],
  ['its table', `/cascades/${cpid(1)}?as=table`, /In time/],
  ['the object', `/objects?ref=${POD}`, /Had read/],
  ['what is found', '/find?q=cart&namespace=shop', /^Objects$/],
])('%s is fit for everybody, in both schemes, and no wider than a phone', async (_what, path, sign) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await dashboard.open(path, { colorScheme, viewport: { width: 390, height: 844 } })
    await page.getByText(sign).first().waitFor()
    expect(await accessibilityFaults(page)).toEqual([])
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect(widerBy).toBe(0)
    await page.context().close()
  }
})
