import { json } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { eventually } from '../../lab/harness/eventually.ts'
import {
  cpid,
  logsRequest,
  mergelogsRequest,
  spansRequest,
  type SpanSketch,
  START_NS,
} from '../support/otlp-requests.ts'
import { metricsRequest } from '../support/pod-metrics.ts'
import { accessibilityFaults, Dashboard, spans } from './support/dashboard.ts'

const [ROOT, SCALED, MERGED] = [cpid(1), cpid(2), cpid(3)]
const SPANS = 100_000
const AT_ONCE = 2_000
const OF_POD = 10
/** What a view has at most, however large the cascade is. */
const MOST_ELEMENTS = 3_000
const LONGEST_MS = 300_000
const DEPLOYMENT = 'apps/v1/deployments/default/shop'
const REPLICASET = 'apps/v1/replicasets/default/shop-7d9f'
const PODS = ['a', 'b']
/** Metrics are kept if they are of about when they come, so that all of it happened just now. */
const FROM_MS = Date.now() - Number(START_NS / 1_000_000n) - 420_000

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  const rollout = rolloutSpans()
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [
        { new: ROOT, object: DEPLOYMENT, reason: 'creation by bob', ...told(900_001), time: FROM_MS },
        {
          new: SCALED,
          object: DEPLOYMENT,
          reason: 'scale by alice',
          ...told(900_009),
          time: FROM_MS + 60_000,
        },
        {
          new: MERGED,
          object: DEPLOYMENT,
          sources: [ROOT, SCALED],
          ...told(900_009),
          time: FROM_MS + 60_000,
        },
      ]),
    },
    spans('kubectl', rollout),
    spans('deployment-controller', [
      {
        ...{ ...told(900_009).told, cpid: MERGED, name: 'scale Deployment' },
        ...{ start: FROM_MS + 60_000, end: FROM_MS + 60_900 },
        attributes: { 'cpid.observed': [`${DEPLOYMENT}?rv=10`], 'cpid.wrote': [`${DEPLOYMENT}?rv=20`] },
      },
    ]),
    {
      signal: 'logs',
      bytes: logsRequest('kubelet', [
        {
          ...{ body: 'no room on node-1', cpid: ROOT, time: FROM_MS + 150_000, severity: 13 },
          attributes: { 'k8s.event.reason': 'FailedScheduling' },
        },
      ]),
    },
  ])
  for (let from = 0; from < SPANS; from += AT_ONCE) await dashboard.send([configMaps(from)])
  await eventually(async () => {
    const { spans: count } = (await (
      await fetch(`${dashboard.url}/api/v1/cascades?object=shop`)
    )
      .json()
      .then((answer) => (answer as { cascades: { root: string; spans: number }[] }).cascades)
      .then((cascades) => cascades.find(({ root }) => root === ROOT))) ?? { spans: 0 }
    expect(count).toBe(SPANS + rollout.length)
  }, 120_000)
  await dashboard.send([{ signal: 'metrics', bytes: podMetrics() }])
}, LONGEST_MS)
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each([1280, 820, 390])(
  'a cascade of a hundred thousand spans stays usable at %i pixels',
  async (width) => {
    const page = await dashboard.open(`/cascades/${ROOT}`, { viewport: { width, height: 800 } })
    await page.getByRole('application', { name: /Flame graph by cause, 100,0\d\d spans/ }).waitFor()
    await page.getByText('bob created deployment shop').first().waitFor()
    await page.getByText('1 span failed').waitFor()
    await page.getByText('1 driven by other changes').waitFor()
    await page.getByRole('link', { name: 'alice scaled deployment shop, 1 min 0 s after' }).waitFor()
    const strip = page.getByRole('group', { name: 'Events and logs in time' })
    await strip.getByRole('button', { name: /FailedScheduling/ }).waitFor()
    await isUsable(page)

    await page.getByRole('button', { name: 'First failure' }).click()
    const details = page.getByRole('complementary', { name: 'Span' })
    await details.getByRole('heading', { name: `update ${SPANS - 1}` }).waitFor()
    await details.getByText('disk is full').waitFor()
    await page.getByRole('button', { name: 'Slowest' }).click()
    await details.getByRole('heading', { name: 'kubectl apply' }).waitFor()
    await page.getByLabel('Search the spans').fill('status.reason=out of disk')
    await page.getByRole('status').getByText('1', { exact: true }).waitFor()
    await page.getByLabel('Search the spans').press('Enter')
    await details.getByRole('heading', { name: `update ${SPANS - 1}` }).waitFor()
    await page.getByLabel('Search the spans').fill('config 45670')
    await page.getByLabel('Search the spans').press('Enter')
    await details.getByRole('heading', { name: 'reconcile config 45670', exact: true }).waitFor()

    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download for Perfetto' }).click()
    const { traceEvents } = (await json(await (await download).createReadStream())) as {
      traceEvents: { ph: string }[]
    }
    expect(traceEvents.filter(({ ph }) => ph === 'X').length).toBeGreaterThan(SPANS)

    await details.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Table' }).click()
    const table = page.getByRole('table', { name: 'Spans by cause' })
    await table.getByText('reconcile config 45670').waitFor()
    await page.getByLabel('Search the spans').fill('')
    await table.getByRole('button', { name: 'Duration' }).click()
    await table.getByRole('row', { name: /kubectl apply/ }).waitFor()
    await isUsable(page)

    const look = async (tab: string, ...signs: readonly (string | RegExp)[]) => {
      await page.getByRole('tab', { name: tab, exact: true }).click()
      for (const sign of signs) await page.getByRole('tabpanel').getByText(sign).first().waitFor()
      await isUsable(page)
    }
    await look('Critical path', 'Each step waited')
    await look('Object tree', 'more objects, which are neither shown nor counted here', 'shop-7d9f-a')
    await look('Pods', /default\/shop-7d9f-a/, 'Memory')
    await look('Time', 'By kind of object')
    await look('Merges', 'alice scaled deployment shop')
    await look('Objects', /Show 200 of \d\d,\d\d\d more/)
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('application', { name: /Gantt chart of 100,00\d objects/ }).waitFor()
    await isUsable(page)
    await page.context().close()

    const versions = await dashboard.open(`/objects?ref=${REPLICASET}`, { viewport: { width, height: 800 } })
    await versions.getByText('spec.replicas').first().waitFor()
    await isUsable(versions)
    await versions.getByRole('tab', { name: 'Why it is so' }).click()
    await versions.getByText('bob created deployment shop').first().waitFor()
    await isUsable(versions)
    await versions.context().close()
  },
  LONGEST_MS,
)

/** Nothing is cut off, nothing stands in the way of people with disabilities, and the page is not large. */
async function isUsable(page: Page): Promise<void> {
  await eventually(async () => expect(await page.locator('*').count()).toBeLessThan(MOST_ELEMENTS))
  const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
  expect([page.url(), widerBy]).toEqual([page.url(), 0])
  await page.evaluate('scrollTo(0, 0)')
  expect([page.url(), await accessibilityFaults(page)]).toEqual([page.url(), []])
}

/** A span of its own, in which a mergelog was told. */
function told(number: number): { told: { trace: number; id: number } } {
  return { told: { trace: number, id: number } }
}

/** A Deployment, its ReplicaSet, which is scaled, and two Pods. */
function rolloutSpans(): SpanSketch[] {
  const write = (number: number, name: string, attributes: Record<string, unknown>): SpanSketch => ({
    ...{ trace: number, id: number, cpid: ROOT, name, attributes },
    ...{ start: FROM_MS + (number - 900_001) * 10, end: FROM_MS + (number - 900_001) * 10 + 5 },
  })
  const ofDeployment = { 'cpid.owner': `${DEPLOYMENT}?uid=u1` }
  return [
    {
      ...write(900_001, 'kubectl apply', { 'cpid.wrote': [`${DEPLOYMENT}?uid=u1&rv=10`] }),
      end: FROM_MS + 400_000,
    },
    write(900_002, 'create apps/v1/replicasets', {
      ...{ ...ofDeployment, 'cpid.observed': [`${DEPLOYMENT}?uid=u1&rv=10`] },
      'cpid.wrote': [`${REPLICASET}?uid=u2&rv=11`],
    }),
    write(900_003, 'update apps/v1/replicasets', {
      ...{ ...ofDeployment, 'cpid.changed': ['spec.replicas: 1 → 2'] },
      ...{ 'cpid.observed': [`${REPLICASET}?uid=u2&rv=11`], 'cpid.wrote': [`${REPLICASET}?uid=u2&rv=12`] },
    }),
    ...PODS.map((name, at) =>
      write(900_004 + at, 'create v1/pods', {
        ...{ 'cpid.owner': `${REPLICASET}?uid=u2`, 'cpid.observed': [`${REPLICASET}?uid=u2&rv=12`] },
        'cpid.wrote': [`v1/pods/default/shop-7d9f-${name}?uid=${name}&rv=${20 + at}`],
      }),
    ),
  ]
}

/** Of each Pod's configuration a reconcile and calls in it, each of which writes an object of its own. The last one fails. */
function configMaps(from: number) {
  const sketches = Array.from({ length: AT_ONCE }, (_, at): SpanSketch => {
    const number = from + at
    const isTop = number % OF_POD === 0
    const isLast = number === SPANS - 1
    return {
      ...{ trace: 10 + Math.floor(number / OF_POD), id: 10 + number, cpid: ROOT },
      ...{ start: FROM_MS + number * 3, end: FROM_MS + number * 3 + 40 },
      ...(isTop
        ? { name: `reconcile config ${number}` }
        : { name: `update ${number}`, parent: 10 + number - 1 }),
      ...(isLast && { status: 2, statusMessage: 'disk is full' }),
      attributes: {
        'cpid.wrote': [`v1/configmaps/default/web-${number}?rv=${number}`],
        ...(isLast && { 'status.reason': 'out of disk' }),
      },
    }
  })
  return { signal: 'traces' as const, bytes: spansRequest(`controller-${(from / AT_ONCE) % 20}`, sketches) }
}

function podMetrics(): Buffer {
  const points = Array.from({ length: 10 }, (_, at) => [FROM_MS + at * 10_000, at + 1] as const)
  return metricsRequest(
    PODS.map((uid) => ({
      uid,
      metrics: { 'k8s.pod.cpu.usage': points, 'k8s.pod.memory.working_set': points },
    })),
  )
}
