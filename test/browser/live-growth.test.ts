import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest, type SpanSketch } from '../support/otlp-requests.ts'
import type { OtlpRequest } from '../support/rollout.ts'
import { Dashboard } from './support/dashboard.ts'

const DEPLOYMENT = 'apps/v1/deployments/default/web'
const PODS = 40

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

function begin(root: number): OtlpRequest[] {
  const apply = { 'cpid.wrote': [`${DEPLOYMENT}?rv=${root}`] }
  return [
    { signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: cpid(root), object: DEPLOYMENT }]) },
    spans('kubectl', [
      { trace: root * 1_000, id: root * 1_000, name: 'apply', cpid: cpid(root), end: 20, attributes: apply },
    ]),
  ]
}

/** Pods of a change, one after the other. */
function pods(root: number, from: number, count: number): OtlpRequest {
  return spans(
    'replicaset-controller',
    Array.from({ length: count }, (_, at): SpanSketch => {
      const pod = from + at
      return {
        ...{ trace: root * 1_000 + pod + 1, id: root * 1_000 + pod + 1, cpid: cpid(root) },
        ...{ name: `create pod ${pod}`, start: 30 + pod * 10, end: 38 + pod * 10 },
        attributes: {
          'cpid.observed': [`${DEPLOYMENT}?rv=${root}`],
          'cpid.wrote': [`v1/pods/default/web-${pod}?rv=${root * 1_000 + pod}`],
          'test.note': `of pod ${pod}`,
        },
      }
    }),
  )
}

function spans(service: string, sketches: SpanSketch[]): OtlpRequest {
  return { signal: 'traces', bytes: spansRequest(service, sketches) }
}

test('a cascade that grows while it is open grows on its page, and what was chosen and opened stays', async () => {
  await dashboard.send(begin(1))
  const page = await dashboard.open(`/cascades/${cpid(1)}?view=tree`)
  const tree = page.getByRole('list', { name: 'Objects, owners first' })
  const deployment = tree.getByRole('listitem').filter({ hasText: 'deployments default/web' }).first()
  await deployment.getByText('1 write').click()
  await deployment.getByRole('link', { name: 'apply' }).waitFor()
  await page.evaluate('window.before = document.querySelector("main")')

  await dashboard.send([pods(1, 0, 3)])
  await tree.getByText('web-2', { exact: true }).waitFor()
  await deployment.getByRole('link', { name: 'apply' }).click()
  await page.getByRole('complementary', { name: 'Span' }).getByRole('heading', { name: 'apply' }).waitFor()

  await page.getByRole('button', { name: 'Zoom in' }).click()
  await page.waitForURL(/zoom=/)
  const zoom = new URL(page.url()).searchParams.get('zoom')
  await dashboard.send([pods(1, 3, PODS - 3)])
  await page
    .getByRole('application', { name: new RegExp(`Flame graph by cause, ${PODS + 2} spans`) })
    .waitFor()
  await page.getByText(`${PODS + 2} boxes`).waitFor()
  expect(new URL(page.url()).searchParams.get('zoom')).toBe(zoom)
  await page.getByRole('complementary', { name: 'Span' }).getByRole('heading', { name: 'apply' }).waitFor()

  expect(await page.evaluate('window.before === document.querySelector("main")')).toBe(true)
})

test('spans that arrived while the page was open are found by their attributes', async () => {
  await dashboard.send(begin(2))
  const page = await dashboard.open(`/cascades/${cpid(2)}?q=of+pod+7`)
  await page.getByText('2 boxes').waitFor()
  await page.getByRole('status').getByText('none', { exact: false }).first().waitFor()
  await dashboard.send([pods(2, 0, 10)])
  await page.getByRole('status').getByText('1', { exact: true }).waitFor()
})

test('a cascade whose link comes before its spans shows once they have come', async () => {
  const page = await dashboard.open(`/cascades/${cpid(3)}`)
  await page.getByRole('heading', { name: 'Nothing is known of this CPID' }).waitFor()
  await dashboard.send(begin(3))
  await page.getByRole('application', { name: /Flame graph by cause, 2 spans/ }).waitFor()
})

test('an open page shows that its cascade has settled, and what comes after that', async () => {
  await using settling = await Dashboard.start({ settleAfter: '4s' })
  await settling.send(begin(4))
  const page = await settling.open(`/cascades/${cpid(4)}?as=table`)
  await page.getByText('settled', { exact: true }).waitFor()
  await page.getByText('Still open').waitFor({ state: 'detached' })
  await page.evaluate('window.before = document.querySelector("main")')

  await settling.send([pods(4, 0, 3)])
  await page.getByText('create pod 2', { exact: true }).waitFor()
  expect(await page.evaluate('window.before === document.querySelector("main")')).toBe(true)
  expect(settling.faults).toEqual([])
})
