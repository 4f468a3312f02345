import { setImmediate } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import { eventually } from '../../../lab/harness/eventually.ts'
import { startHealthServer } from '../../../src/extension/health-check/health-server.ts'
import { ApiServer } from '../../../src/kube/cluster/api-server.ts'
import { DEFAULT_STREAM_LIMITS } from '../../../src/kube/cluster/resource-stream.ts'
import { nanosOfMs } from '../../../src/model/time-and-size.ts'
import { createMetrics } from '../../../src/platform/metrics.ts'
import { OwnTelemetry } from '../../../src/app/own-telemetry.ts'
import { followCluster } from '../../../src/receiver/k8s-objects/start-k8s-objects.ts'
import { WatchReports } from '../../../src/receiver/watched-cluster.ts'
import { answerStatus, TestApiServer } from '../../cluster/support/test-api-server.ts'
import { SourceHost } from '../support/source-host.ts'

test('a cluster of which nothing is seen for a minute is a warning of the health check until it is', async () => {
  await using api = await TestApiServer.start()
  let isKnown = true
  api.instead.push((_, response) => {
    if (!isKnown) answerStatus(response, 401, 'Unauthorized')
    return !isKnown
  })
  await using health = await startHealthServer({ host: '127.0.0.1', port: 0, path: '/' })
  health.setReady(true)
  const log = { debug: none, info: none, warn: none, error: none, child: () => log }
  const telemetry = new OwnTelemetry({
    metrics: createMetrics({ serviceName: 'c', serviceVersion: '1', serviceInstanceId: 'i' }),
    log,
    onFault: none,
    onWarning: (part, warning) => health.setWarning(part, warning),
  })
  const shown = async (): Promise<unknown> => await (await fetch(`http://127.0.0.1:${health.port}/`)).json()

  // Time goes on as it is waited for, one wait after the other.
  let nowMs = 0
  const waiting = {
    now: () => nanosOfMs(nowMs),
    sleep: async (ms: number, signal: AbortSignal) => {
      if (ms > 100_000)
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      else nowMs += ms
      await setImmediate()
    },
    random: () => 0,
  }
  const host = new SourceHost()
  const { observationPort: port, clusterObserver: observer, memory, reading } = host.of()
  using server = new ApiServer(api.access)
  const streams = new WatchReports(
    { receiver: 'k8s_objects', cluster: 'mine', address: api.url },
    {
      ...{ observer, now: () => waiting.now() },
      onTrouble: (reason) => host.troubles.push(reason),
      onWarning: (warning) => telemetry.warning('k8s_objects', warning),
    },
  )
  const settings = {
    ...{ cluster: 'mine', authType: 'kubeConfig' as const, objects: [], namespaces: [] },
    discoveryIntervalMs: 1_000_000,
  }
  const reporter = {
    ...{ port, waiting, memory, observer },
    ...{ cluster: 'mine', receiver: 'k8s_objects', onTrouble: none },
  }
  const stop = new AbortController()
  const following = followCluster(
    { settings, server, reporter, reading, limits: DEFAULT_STREAM_LIMITS, waiting, streams },
    stop.signal,
  )
  await eventually(() => expect(api.watchers).toBe(1))
  expect(await shown()).toEqual({ status: 'Server available' })

  isKnown = false
  api.cut()
  await eventually(async () => expect(await shown()).toHaveProperty('warnings'))
  expect(await shown()).toEqual({
    status: 'Server available',
    warnings: [
      expect.stringMatching(
        /^k8s_objects: nothing is seen of the cluster mine at \S+ since 1970-01-01T00:00:\S+Z: it does not know who asks/,
      ),
    ],
  })
  isKnown = true
  await eventually(async () => expect(await shown()).toEqual({ status: 'Server available' }))
  stop.abort()
  await following
})

test('a cluster that is away for less than a minute, or of which something is seen, is none', () => {
  let nowMs = 0
  const warnings: (string | undefined)[] = []
  const { clusterObserver: observer } = new SourceHost().of()
  const reports = new WatchReports(
    { receiver: 'r', cluster: 'c', address: 'https://c' },
    {
      ...{ observer, onTrouble: none, now: () => nanosOfMs(nowMs) },
      onWarning: (warning) => warnings.push(warning),
    },
  )
  const failAt = (ms: number): void => {
    nowMs = ms
    reports.unreachable('it is away')
  }
  reports.behind('a')
  reports.behind('b')
  failAt(0)
  failAt(59_999)
  reports.inSync('a')
  failAt(60_000)
  failAt(200_000)
  reports.behind('a')
  failAt(300_000)
  failAt(359_999)
  expect(warnings).toEqual([])
  failAt(360_000)
  expect(warnings).toEqual([
    'r: nothing is seen of the cluster c at https://c since 1970-01-01T00:05:00.000Z: it is away',
  ])
  reports.inSync('b')
  expect(warnings[1]).toBeUndefined()
})

const none = (): void => undefined
