import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import type { OtlpRequest } from '../support/rollout.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const WEB = 'apps/v1/deployments/shop/web'
const REPLICASET = 'apps/v1/replicasets/shop/web-7d9f'
const JOB = 'batch/v1/jobs/shop/sweep-1'
const PODS = 400
const WIDTHS = [390, 900, 1440]

let dashboard: Dashboard
let spans = 0

/** A write as inference tells of it. */
function seen(
  service: string,
  name: string,
  of: number,
  attributes: Record<string, unknown>,
  status?: number,
): OtlpRequest {
  spans++
  const at = { start: 1_000 + spans, end: 1_004 + spans }
  const span = { trace: spans, id: spans, cpid: cpid(of), name, ...at, ...(status && { status }) }
  return { signal: 'traces', bytes: spansRequest(service, [{ ...span, attributes }]) }
}

beforeAll(async () => {
  dashboard = await Dashboard.start()
  const pods = Array.from({ length: PODS }, (_, at) => at).flatMap((at) => {
    const pod = `v1/pods/shop/web-7d9f-${String(at).padStart(5, '0')}`
    const owner = { 'cpid.owner': `${REPLICASET}?uid=u2` }
    return [
      seen('replicaset-controller', 'create v1/pods', 1, {
        ...{ ...owner, 'cpid.cause': 'exact', 'cpid.observed': [`${REPLICASET}?uid=u2&rv=6`] },
        'cpid.wrote': [`${pod}?uid=p${at}&rv=${1_000 + 2 * at}`],
      }),
      seen(
        'kubelet',
        'update v1/pods status',
        1,
        {
          ...{
            ...owner,
            'cpid.cause': 'inferred',
            'cpid.observed': [`${pod}?uid=p${at}&rv=${1_000 + 2 * at}`],
          },
          'cpid.wrote': [`${pod}?uid=p${at}&rv=${1_001 + 2 * at}`],
        },
        at === 137 ? 2 : undefined,
      ),
    ]
  })
  await dashboard.send([
    {
      signal: 'logs',
      bytes: mergelogsRequest('kubectl', [
        { new: cpid(2), time: 1_000, object: `${WEB}?uid=u1&rv=4`, reason: 'authored by bob' },
        { new: cpid(1), time: 1_001, object: `${WEB}?uid=u1&rv=5`, reason: 'scale by alice' },
        {
          new: cpid(3),
          time: 1_002,
          object: `${JOB}?uid=u9&rv=40`,
          reason: 'schedule: creation by cronjob-controller',
        },
      ]),
    },
    seen('kubectl', 'update apps/v1/deployments', 2, {
      ...{ 'cpid.cause': 'operator', 'user.name': 'bob', 'cpid.wrote': [`${WEB}?uid=u1&rv=4`] },
      'cpid.changed': ['spec.replicas: 2 → 3'],
    }),
    seen('kubectl', 'scale apps/v1/deployments', 1, {
      ...{ 'cpid.cause': 'operator', 'user.name': 'alice', 'cpid.wrote': [`${WEB}?uid=u1&rv=5`] },
      'cpid.changed': [
        'spec.replicas: 3 → 400',
        'spec.template.spec.containers[web].image: registry.example/web:v1 → registry.example/web:v2',
        'spec.template.spec.containers[web].env[DB_PASSWORD].value: changed',
        'spec.paused: removed, was true',
      ],
    }),
    seen('kubectl', 'superseded apps/v1/deployments', 2, {
      ...{ 'cpid.observed': [`${WEB}?uid=u1&rv=4`], 'cpid.superseded_by': cpid(1) },
    }),
    seen('deployment-controller', 'update apps/v1/replicasets', 1, {
      ...{ 'cpid.cause': 'exact', 'cpid.owner': `${WEB}?uid=u1`, 'cpid.observed': [`${WEB}?uid=u1&rv=5`] },
      'cpid.wrote': [`${REPLICASET}?uid=u2&rv=6`],
    }),
    seen('cronjob-controller', 'create batch/v1/jobs', 3, {
      ...{ 'cpid.cause': 'self', 'cpid.reason': 'schedule', 'cpid.wrote': [`${JOB}?uid=u9&rv=40`] },
    }),
    ...pods,
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

const open = (path: string, width: number) => dashboard.open(path, { viewport: { width, height: 900 } })

/** Nothing of the page is wider than it. */
const isCutOff = (page: Awaited<ReturnType<typeof open>>): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth)

test.each(WIDTHS)(
  'at %i pixels the object tree has owners down to Pods, with what was done to each',
  async (width) => {
    const page = await open(`/cascades/${cpid(1)}?view=tree`, width)
    const tree = page.getByRole('list', { name: 'Objects, owners first' })
    await page.getByRole('button', { name: 'failed 1' }).waitFor()
    await page.getByRole('button', { name: 'made 400' }).waitFor()
    // What failed comes first; the rest on request.
    const pods = tree.getByText('web-7d9f-00137', { exact: true })
    await pods.waitFor()
    expect(await tree.getByText(/^web-7d9f-\d+$/).count()).toBe(12)
    await tree.locator('summary').first().click()
    await tree.getByText('spec.replicas').waitFor()
    await tree.getByText('registry.example/web:v2').waitFor()
    expect(await isCutOff(page)).toBe(false)
    expect(await accessibilityFaults(page)).toEqual([])
    await page.getByRole('button', { name: 'failed 1' }).click()
    await page.waitForURL((url) => url.searchParams.get('deed') === 'failed')
    expect(await tree.getByText(/^web-7d9f-\d+$/).count()).toBe(1)
    await page.getByRole('button', { name: 'failed 1' }).click()
    await tree.getByRole('button', { name: '388 more' }).click()
    expect(await tree.getByText(/^web-7d9f-\d+$/).count()).toBe(PODS)
  },
)

test.each(WIDTHS)('at %i pixels an object says why it is as it is, back to who began it', async (width) => {
  const page = await open(`/cascades/${cpid(1)}?view=tree`, width)
  await page.getByRole('link', { name: 'Why? pod web-7d9f-00137' }).click()
  const steps = page.getByRole('list', { name: /What led to it/ })
  await steps.getByText('alice scaled deployment web').waitFor()
  await steps.getByText('replicaset-controller created pod web-7d9f-00137').waitFor()
  expect(await steps.getByRole('listitem').count()).toBeGreaterThanOrEqual(3)
  await page.getByRole('group', { name: /What led to the object/ }).waitFor()
  expect(await isCutOff(page)).toBe(false)
  expect(await accessibilityFaults(page)).toEqual([])
  await steps.getByRole('link', { name: 'alice scaled deployment web' }).click()
  await page.waitForURL((url) => url.pathname === `/cascades/${cpid(1)}`)
})

test.each(WIDTHS)(
  'at %i pixels superseded changes, and those begun by themselves, look it',
  async (width) => {
    const page = await open('/', width)
    await page
      .getByRole('row', { name: /sweep-1/ })
      .getByText('by itself: schedule')
      .waitFor()
    await page.getByRole('row', { name: /bob/ }).getByText('superseded').waitFor()
    expect(await isCutOff(page)).toBe(false)
    expect(await accessibilityFaults(page)).toEqual([])
    const why = await open(`/objects?ref=${encodeURIComponent(WEB)}&view=why`, width)
    await why
      .getByRole('list', { name: 'Boxes' })
      .getByText('superseded: another change overwrote it entirely')
      .waitFor()
    await why
      .getByRole('list', { name: /What led to it/ })
      .getByText('superseded', { exact: true })
      .waitFor()
    expect(await isCutOff(why)).toBe(false)
    expect(await accessibilityFaults(why)).toEqual([])
    const versions = await open(`/objects?ref=${encodeURIComponent(WEB)}`, width)
    await versions.getByText('registry.example/web:v2').waitFor()
    expect(await isCutOff(versions)).toBe(false)
    const graph = await open(`/cpids/${cpid(2)}`, width)
    await graph
      .getByRole('list', { name: 'Boxes and lines' })
      .getByText(/^superseded/)
      .waitFor()
    expect(await accessibilityFaults(graph)).toEqual([])
  },
)
