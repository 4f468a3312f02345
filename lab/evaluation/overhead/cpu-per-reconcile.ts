import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { VirtualClock } from '../../../packages/control-plane/virtual-clock.ts'
import type { Bridge } from './bridge.ts'
import { otlpEnds } from './otlp-ends.ts'
import { playOn, type TelemetryEnds } from './play-on.ts'
import { growStepwise } from './scenario.ts'

/** What is done about telemetry: nothing, made and kept in memory, or made and sent to a bridge. */
export const WAYS = ['plain', 'recorded', 'sent'] as const
export type Way = (typeof WAYS)[number]

export interface CpuData {
  /** Reconciles and commands of a run, the same in each. */
  reconciles: number
  /** Of each round: CPU of the whole control plane for each of them, in µs. */
  rounds: Record<Way, number>[]
}

const AT_ONCE = { least: 0, most: 0 }
const INSTANT = {
  latency: { readMs: AT_ONCE, writeMs: AT_ONCE, watchMs: AT_ONCE },
  pace: { scoringMs: AT_ONCE, pullingMs: AT_ONCE, startingMs: AT_ONCE, stoppingMs: AT_ONCE },
}
const WARM_UP_ROUNDS = 3
/** A run makes in a second what a cluster makes in minutes. */
const QUEUE = { maxQueueSize: 1_000_000 }

/** CPU of the scenario of section 5.1.1 when nothing ever waits; the ways take turns. */
export async function measureCpu(bridge: Bridge, rounds: number, onRound: () => void): Promise<CpuData> {
  const reconciles = await countReconciles()
  const measured: CpuData['rounds'] = []
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    const used: Record<Way, number> = { plain: 0, recorded: 0, sent: 0 }
    for (let turn = 0; turn < WAYS.length; turn++) {
      const way = WAYS[(turn + round + WARM_UP_ROUNDS) % WAYS.length] ?? 'plain'
      used[way] = (await cpuOf(endsFor(way, bridge))) / reconciles
    }
    if (round >= 0) measured.push(used)
    onRound()
  }
  return { reconciles, rounds: measured }
}

function endsFor(way: Way, bridge: Bridge): TelemetryEnds | undefined {
  if (way === 'plain') return undefined
  if (way === 'sent') return otlpEnds(bridge.endpoint, QUEUE)
  const recorder = new Recorder()
  return {
    spanProcessor: () => recorder.spanProcessor(),
    logRecordProcessor: () => recorder.logRecordProcessor(),
  }
}

/** In µs. */
async function cpuOf(telemetry: TelemetryEnds | undefined): Promise<number> {
  globalThis.gc?.()
  const before = process.cpuUsage()
  await play(telemetry)
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** A reconcile begins a span without parent, also one that then finds nothing to do. */
async function countReconciles(): Promise<number> {
  let count = 0
  const counter: SpanProcessor = {
    onStart: (span) => {
      if (span.parentSpanContext === undefined) count++
    },
    onEnd: () => undefined,
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  }
  await play({ spanProcessor: () => counter, logRecordProcessor: () => new Recorder().logRecordProcessor() })
  return count
}

async function play(telemetry: TelemetryEnds | undefined): Promise<void> {
  const clock = new VirtualClock()
  await playOn({ ...INSTANT, clock, seed: 1, telemetry }, (plane) => growStepwise(plane, () => clock.nowMs()))
}
