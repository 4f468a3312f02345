import { availableParallelism } from 'node:os'
import { REAL_CLOCK } from '../../../packages/control-plane/real-clock.ts'
import { watchCpu } from '../../bench/measure/process-usage.ts'
import type { Bridge } from './bridge.ts'
import { otlpEnds } from './otlp-ends.ts'
import { playOn } from './play-on.ts'
import { growStepwise, type ScenarioTimes, warmUp } from './scenario.ts'
import type { KubeObject, Resource } from '../../../packages/control-plane/api/kube-objects.ts'
import type { ObjectStore } from '../../../packages/control-plane/api/object-store.ts'

/**
 * Containers all take as long as they do on average, so that the luck of a draw is not taken for what instrumentation
 * costs; the ways to the API server are as uneven as ever.
 */
const PACE = { pullingMs: { least: 125, most: 125 }, startingMs: { least: 600, most: 600 } }

export interface PropagationRun extends ScenarioTimes {
  server: ServerLoad
  /** CPU meanwhile of the process that the API server and all controllers run in. */
  planeCpuMs: number
  /** With the warm-up, and until all telemetry is sent. */
  wholeMs: number
  /** Cores that everything else on the machine used meanwhile, Causeway too; NaN where there is no /proc. */
  othersCores: number
}

/** A run with instrumentation and one without, which take turns in going first. */
export interface Pair {
  plain: PropagationRun
  traced: PropagationRun
  /** Whether other programs left at least half of the machine in both, so that hardly anything waited for a core. */
  isCalm: boolean
}

export interface PropagationData {
  pairs: Pair[]
  bridge: {
    /** Its CPU while nothing comes in, in thousandths of a core; NaN where there is no /proc, as are the others. */
    idleMillicores: number
    /** All CPU that the instrumented runs cost it beyond that, by how long they took. */
    millicores: number
    /** Resident memory, in MiB, before anything came in and after the last run. */
    idleMib: number
    mib: number
  }
}

/** How many times the pairs that are asked for are measured at most. */
const MAX_TIMES = 2
const IDLE_MS = 5_000
/** Longer than Causeway waits for what is missing, so that nothing is left to do. */
const TAIL_MS = 12_000

/**
 * Measures until there are so many calm pairs, or twice as many of any kind. The first pair only warms up and is not among
 * the outcome.
 */
export async function measurePropagation(
  bridge: Bridge,
  size: { pairs: number },
  onRun: () => void,
): Promise<PropagationData> {
  await runInTurn(bridge, 0, onRun)
  await REAL_CLOCK.sleep(TAIL_MS)
  const idleMib = bridge.memoryMib()
  const idle = await millicoresDuring(bridge, () => REAL_CLOCK.sleep(IDLE_MS))
  const pairs: Pair[] = []
  const busy = await millicoresDuring(bridge, async () => {
    while (
      pairs.filter(({ isCalm }) => isCalm).length < size.pairs &&
      pairs.length < size.pairs * MAX_TIMES
    ) {
      pairs.push(await runInTurn(bridge, pairs.length + 1, onRun))
    }
    await REAL_CLOCK.sleep(TAIL_MS)
  })
  const tracedMs = pairs.reduce((sum, { traced }) => sum + traced.wholeMs, 0)
  return {
    pairs,
    bridge: {
      idleMillicores: idle.millicores,
      millicores: ((busy.millicores - idle.millicores) * busy.ms) / tracedMs,
      idleMib,
      mib: bridge.memoryMib(),
    },
  }
}

async function runInTurn(bridge: Bridge, pair: number, onRun: () => void): Promise<Pair> {
  const isTracedFirst = pair % 2 === 0
  const first = await runOnce(bridge, pair + 1, isTracedFirst)
  onRun()
  const second = await runOnce(bridge, pair + 1, !isTracedFirst)
  onRun()
  const most = availableParallelism() / 2
  const isCalm = [first, second].every(({ othersCores }) => !(othersCores > most))
  return { ...(isTracedFirst ? { traced: first, plain: second } : { traced: second, plain: first }), isCalm }
}

async function runOnce(bridge: Bridge, seed: number, isTraced: boolean): Promise<PropagationRun> {
  const telemetry = isTraced ? otlpEnds(bridge.endpoint) : undefined
  const startedMs = performance.now()
  const run = await playOn({ clock: REAL_CLOCK, seed, pace: PACE, telemetry }, async (plane) => {
    await warmUp(plane, {
      sleep: (ms) => REAL_CLOCK.sleep(ms),
      flush: () => telemetry?.flush() ?? Promise.resolve(),
    })
    const version = versionOf(plane.store)
    const cpu = process.cpuUsage()
    const machine = watchCpu(process.pid)
    const times = await growStepwise(plane, () => performance.now())
    const { user, system } = process.cpuUsage(cpu)
    const { seconds, machineSeconds } = machine()
    return {
      ...times,
      server: loadOf(plane.store, version),
      planeCpuMs: (user + system) / 1000,
      othersCores: (1000 * (machineSeconds - seconds)) / times.totalMs,
    }
  })
  return { ...run, wholeMs: performance.now() - startedMs }
}

async function millicoresDuring(
  bridge: Bridge,
  work: () => Promise<void>,
): Promise<{ millicores: number; ms: number }> {
  const usedSeconds = bridge.watchCpu()
  const startedMs = performance.now()
  await work()
  const ms = performance.now() - startedMs
  return { millicores: (1_000_000 * usedSeconds()) / ms, ms }
}

/** What the API server had to do and keeps. */
interface ServerLoad {
  /** Versions that were made: each is also one event for every watch of the resource. */
  writes: number
  objects: number
  /** Of an object in JSON, on average. */
  bytesPerObject: number
}

const KEPT: readonly Resource[] = ['apps/v1/deployments', 'apps/v1/replicasets', 'v1/pods']

function loadOf(store: ObjectStore, firstVersion: number): ServerLoad {
  const objects = KEPT.flatMap((resource): KubeObject[] => store.list(resource).items)
  const bytes = objects.reduce((sum, object) => sum + Buffer.byteLength(JSON.stringify(object)), 0)
  return {
    writes: versionOf(store) - firstVersion,
    objects: objects.length,
    bytesPerObject: bytes / objects.length,
  }
}

function versionOf(store: ObjectStore): number {
  return Number(store.list('v1/pods').resourceVersion)
}
