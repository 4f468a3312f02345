import { expect, test } from '@jest/globals'
import { OwnTelemetry } from '../../src/app/own-telemetry.ts'
import type { SetAside } from '../../src/model/faults.ts'
import { noLinkCounts } from '../../src/model/linker-settings-and-metrics.ts'
import { createLogger } from '../../src/platform/logger.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { systemClock } from '../../src/platform/system-clock.ts'

const EXPORTER = 'otlp_grpc/jaeger'
const HOUR_MS = 3_600_000
const NO_GAUGES = {
  lag: 0,
  waiting: 0,
  openTraces: 0,
  held: 0,
  setAside: 0,
  cpids: 0,
  tombstones: 0,
  usedBytes: 0,
  walBytes: 0,
  freeBytes: 0,
}

function feedAt(position: number, lastDecision: number) {
  const lines: string[] = []
  const write = (line: string): void => void lines.push(line)
  const log = createLogger({ level: 'info', encoding: 'console', clock: systemClock, caller: 'test', write })
  const metrics = createMetrics({ serviceName: 'test', serviceVersion: '0', serviceInstanceId: '0' })
  let ms = 0
  const warnings: (string | undefined)[] = []
  const onWarning = (_: string, warning: string | undefined): void => void warnings.push(warning)
  const feed = new OwnTelemetry({ metrics, log, onFault: () => undefined, onWarning, nowMs: () => ms })
  feed.exporters.begin({
    positions: { traces: new Map([[EXPORTER, position]]), logs: new Map(), metrics: new Map() },
    archives: new Map(),
    lastDecisions: { traces: lastDecision, logs: 0, metrics: 0 },
  })
  return {
    lines,
    warnings,
    questionFailed: (reason: string) => feed.questionFailed(reason),
    drop: (items: number, reason: string, exporter = EXPORTER) =>
      feed.fromExport({ kind: 'dropped', exporter, items, reason }),
    setAside: (stage: SetAside['stage'], item: number) =>
      feed.fromStore({
        kind: 'setAside',
        items: [{ stage, kind: 'span', item, cpid: undefined, exporter: undefined, reason: 'it broke' }],
      }),
    gauges: (setAside: number) => feed.fromStore({ kind: 'gauges', gauges: { ...NO_GAUGES, setAside } }),
    scrape: () => metrics.scrape(),
    pass: (more: number) => (ms += more),
    leap: (reason: string) => feed.fromStore({ kind: 'clockLeapt', reason }),
    endOfCheckpoints: (reason: string) => feed.fromStore({ kind: 'checkpointsEnded', reason }),
    decide: (traces: number) =>
      feed.fromStore({
        kind: 'linked',
        counts: noLinkCounts(),
        figures: { durations: [], hops: [] },
        lastDecisions: { traces, logs: 0, metrics: 0 },
      }),
    send: (to: number) =>
      feed.fromExport({
        kind: 'moved',
        signal: 'traces',
        exporter: EXPORTER,
        position: to,
        delivered: 1,
        refused: 0,
      }),
    lag: async () => Number(/^cpid_exporter_lag\{.*\} (.*)$/m.exec(await metrics.scrape())?.[1]),
  }
}

test('an exporter that had nothing to send for an hour does not lag by an hour with the next decision', async () => {
  const { decide, pass, lag } = feedAt(7, 7)
  pass(HOUR_MS)
  decide(8)
  expect(await lag()).toBe(0)
  pass(3_000)
  decide(9)
  expect(await lag()).toBe(3)
})

test('the lag begins anew when the backend takes something, and ends when nothing waits', async () => {
  const { send, pass, lag } = feedAt(7, 9)
  pass(5_000)
  expect(await lag()).toBe(5)
  send(8)
  pass(1_000)
  expect(await lag()).toBe(1)
  send(9)
  pass(1_000)
  expect(await lag()).toBe(0)
})

test('a leap of the clock is counted, and told of', async () => {
  const { leap, lines, scrape } = feedAt(0, 0)
  leap('the clock went forward')
  expect(lines).toEqual([expect.stringContaining('the clock went forward')])
  expect(await scrape()).toMatch(/^cpid_clock_leaps 1$/m)
})

test('each end of the thread that moves the write-ahead log is counted, and told of', async () => {
  const { endOfCheckpoints, pass, lines, scrape } = feedAt(0, 0)
  expect(await scrape()).toMatch(/^cpid_checkpoint_thread_ends 0$/m)
  endOfCheckpoints('it ended')
  pass(60_000)
  endOfCheckpoints('it ended')
  expect(lines).toEqual([expect.stringContaining('it ended'), expect.stringContaining('it ended')])
  expect(await scrape()).toMatch(/^cpid_checkpoint_thread_ends 2$/m)
})

test('what is set aside is counted, and told of once a minute for each stage, with how many there were', async () => {
  const { setAside, gauges, pass, lines, scrape } = feedAt(0, 0)
  for (let item = 1; item <= 5; item++) setAside('linking', item)
  setAside('settling', 9)
  expect(lines).toEqual([
    expect.stringMatching(/it broke.*span 1"/),
    expect.stringMatching(/settling.*span 9"/),
  ])
  pass(60_000)
  gauges(6)
  expect(lines.slice(2)).toEqual([expect.stringMatching(/"items": ?4.*it broke.*span 5"/)])
  const text = await scrape()
  expect(text).toMatch(/^cpid_set_aside\{stage="linking"\} 5$/m)
  expect(text).toMatch(/^cpid_set_aside_items 6$/m)
})

test('health is told of what was set aside for as long as it is remembered', () => {
  const { gauges, warnings } = feedAt(0, 0)
  gauges(0)
  gauges(2)
  gauges(0)
  expect(warnings).toEqual([undefined, expect.stringMatching(/2 within a week.*audit_set_aside/), undefined])
})

test('questions that fail again and again, each for another reason, are one line a minute with their number', () => {
  const feed = feedAt(0, 0)
  for (let at = 0; at < 1_000; at++) feed.questionFailed(`reason ${at}`)
  expect(feed.lines).toHaveLength(1)
  expect(feed.lines[0]).toContain('"questions":1')
  feed.pass(59_999)
  feed.gauges(0)
  expect(feed.lines).toHaveLength(1)
  feed.pass(1)
  feed.gauges(0)
  expect(feed.lines).toHaveLength(2)
  expect(feed.lines[1]).toMatch(/"questions":999.*"reason 999"/)
  feed.pass(60_000)
  feed.gauges(0)
  expect(feed.lines).toHaveLength(2)
})

test('what a backend refuses, each batch for another reason, is one line a minute for each exporter with its number', () => {
  const feed = feedAt(0, 0)
  for (let at = 0; at < 1_000; at++) feed.drop(2, `refused ${at}`)
  feed.drop(1, 'refused there too', 'otlp_grpc/other')
  expect(feed.lines).toEqual([
    expect.stringMatching(/otlp_grpc\/jaeger.*refused 0.*"dropped_items":2\b/),
    expect.stringMatching(/otlp_grpc\/other.*refused there too.*"dropped_items":1\b/),
  ])
  feed.pass(60_000)
  feed.gauges(0)
  expect(feed.lines.slice(2)).toEqual([expect.stringMatching(/refused 999.*"dropped_items":1998\b/)])
})
