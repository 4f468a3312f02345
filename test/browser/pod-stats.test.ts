import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest, START_NS } from '../support/otlp-requests.ts'
import { metricsRequest } from '../support/pod-metrics.ts'
import { accessibilityFaults, Dashboard } from './support/dashboard.ts'

const WIDTHS = [390, 768, 1280]
const STEP = 10_000
const MIB = 1024 * 1024

let dashboard: Dashboard

beforeAll(async () => {
  dashboard = await Dashboard.start()
  // Metrics are of about when they come; the wall clock is not the tests' own.
  const now = Date.now() - Number(START_NS / 1_000_000n)
  const at = (from: number): number => now + from * STEP
  const pods = ['old', 'new'].map((name) => `v1/pods/shop/web-${name}?uid=${name}&rv=1`)
  await dashboard.send([
    { signal: 'logs', bytes: mergelogsRequest('kubectl', [{ new: cpid(1), time: at(0) }]) },
    {
      signal: 'traces',
      bytes: spansRequest(
        'replicaset-controller',
        pods.map((pod, id) => ({
          ...{ trace: 1, id: id + 1, cpid: cpid(1), start: at(0), end: at(3) },
          attributes: { 'cpid.wrote': [pod] },
        })),
      ),
    },
  ])
  const drawn = (from: number, to: number, value: (of: number) => number) =>
    Array.from({ length: to - from }, (_, of) => [at(from + of), value(of)] as const)
  await dashboard.send([
    {
      signal: 'metrics',
      bytes: metricsRequest([
        {
          uid: 'old',
          metrics: {
            'k8s.pod.cpu.usage': drawn(-20, 2, (of) => 0.4 + 0.1 * Math.sin(of)),
            'k8s.pod.memory.working_set': drawn(-20, 2, () => 180 * MIB),
          },
        },
        {
          uid: 'new',
          metrics: {
            'k8s.pod.cpu.usage': drawn(1, 30, (of) => 1.5 / (1 + of)),
            'k8s.pod.memory.working_set': drawn(1, 30, (of) => (40 + 4 * of) * MIB),
          },
        },
        {
          ...{ uid: 'new', container: 'app' },
          metrics: {
            'k8s.container.restarts': drawn(1, 30, (of) => Math.floor(of / 10)),
            container_cpu_cfs_throttled_seconds_total: drawn(1, 30, (of) => of * of * 0.05),
          },
        },
      ]),
    },
  ])
})
afterAll(() => dashboard[Symbol.asyncDispose]())
afterEach(() => expect(dashboard.faults).toEqual([]))

test.each(WIDTHS)('each Pod has its lines, %s pixels wide, light and dark', async (width) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await dashboard.open(`/cascades/${cpid(1)}?view=pods`, {
      ...{ colorScheme, viewport: { width, height: 900 } },
    })
    const list = page.getByRole('list', { name: 'Pods and what was measured of them' })
    await list.waitFor()
    expect(await list.getByRole('listitem').count()).toBe(2)
    const lines = await list
      .getByRole('img')
      .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
    expect(lines).toEqual([
      expect.stringMatching(/^CPU: 5\dm to 1.50 cores, last 5\dm$/),
      'Memory: 40.0 MiB to 152 MiB, last 152 MiB',
      'Restarts, app: 0 to 2, last 2',
      expect.stringMatching(/^Throttled, app: 0.5 % to 28 %, last 28 %$/),
      expect.stringMatching(/^CPU: 3\d\dm to (?:4|5)\d\dm, last/),
      'Memory: 180 MiB, last 180 MiB',
    ])
    expect(await accessibilityFaults(page)).toEqual([])
    const widerBy = await page.locator('html').evaluate((html) => html.scrollWidth - html.clientWidth)
    expect(widerBy).toBe(0)
    await page.context().close()
  }
})
