import Database from 'better-sqlite3'
import { randomInt } from 'node:crypto'
import { startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import type { Figure, SectionResult } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { Options } from '../options.ts'
import { memoryFigures, overTime, paceFigures, realTimeFigures, type RoundCurves } from './anchor-figures.ts'
import { runAnchor } from './anchor-run.ts'
import type { FromAnchorSink, ToAnchorSink } from './messages.ts'
import { NODES } from './pod-change.ts'
import { CPIDS_PER_CHANGE, SPANS_PER_CHANGE } from './steps.ts'

const CHANGES_PER_SECOND = 100
/** Waits of the linker at the speed of 1, as they are when nothing is set; seconds. */
const WAITS = { wait: 10, settle_after: 300, max_open: 1_800 }

/** What Kubernetes' scalability envelope sends: 5,000 nodes, 100 changes of Pods a second, for an hour. */
export async function benchAnchor(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  const curves: RoundCurves[] = []
  for (let round = 0; round < options.rounds; round++) {
    const measured = await anchorRound(options)
    rounds.push(measured.figures)
    curves.push(measured.curves)
    onRound()
  }
  const { seconds, speed, realTimeSeconds } = options.anchor
  return {
    name: 'anchor',
    about:
      `${NODES} nodes, ${CHANGES_PER_SECOND} Pod changes a second, each ${SPANS_PER_CHANGE} spans and ${CPIDS_PER_CHANGE} ` +
      `CPIDs: ${seconds} s of simulated time at a speed of at most ${speed}, then ${realTimeSeconds} s at real time`,
    figures: figures(speed),
    rounds,
    curves: overTime(curves),
  }
}

async function anchorRound(
  options: Options,
): Promise<{ figures: Record<string, number>; curves: RoundCurves }> {
  const { seconds, speed, realTimeSeconds } = options.anchor
  using directory = freshDirectory(options.directory)
  using sink = new HelperProcess<ToAnchorSink, FromAnchorSink>('../anchor/sink.ts')
  const { port } = await sink.hear('ready')
  const common = {
    seed: randomInt(2 ** 31),
    changesPerSecond: CHANGES_PER_SECOND,
    inFlight: options.inFlight,
  }
  const waits = Object.entries(WAITS).map(
    ([key, wait]) => `connectors.cpid.linking.${key}=${(wait * 1000) / speed}ms`,
  )
  const hurried = await startMeasuredCauseway(options, directory.path, port, waits)
  const beginsMs = Date.now() - seconds * 1000
  const hour = await runAnchor(hurried, sink, {
    ...common,
    firstChange: 0,
    seconds,
    speed,
    beginsMs,
    keepsTimes: false,
  }).finally(() => hurried.stop())
  const stored = storedIn(hurried.path)

  const calm = await startMeasuredCauseway(options, directory.path, port)
  const now = await runAnchor(calm, sink, {
    ...common,
    firstChange: seconds * CHANGES_PER_SECOND,
    seconds: realTimeSeconds,
    speed: 1,
    beginsMs: Date.now(),
    keepsTimes: true,
  }).finally(() => calm.stop())
  const memory = memoryFigures(hour, seconds)
  const realTime = realTimeFigures(now)
  return {
    figures: { ...paceFigures(hour, seconds), ...memory.figures, ...stored, ...realTime.figures },
    curves: { ...memory.curves, ...realTime.curves },
  }
}

function storedIn(path: string): Record<string, number> {
  const db = new Database(path, { readonly: true })
  try {
    const row = db
      .prepare<[], { live_cpids: number; tombstones: number }>('SELECT live_cpids, tombstones FROM progress')
      .get()
    return { cpids: row?.live_cpids ?? Number.NaN, tombstones: row?.tombstones ?? Number.NaN }
  } finally {
    db.close()
  }
}

function figures(speed: number): Record<string, Figure> {
  const mib = (label: string): Figure => ({ label, unit: 'MiB', digits: 0 })
  const seconds = (label: string): Figure => ({ label, unit: 's', digits: 2 })
  return {
    speed: { label: 'simulated seconds in one, at most ' + String(speed), unit: '', digits: 2 },
    changesPerSecond: { label: 'Pod changes taken', unit: 'changes/s', digits: 0, target: { atLeast: 100 } },
    spansPerSecond: { label: 'spans acknowledged', unit: 'spans/s', digits: 0 },
    ackP99Ms: { label: 'reply, 99 % within', unit: 'ms', digits: 1 },
    drainSeconds: seconds('from the last reply until the backend has all'),
    cores: { label: 'cores Causeway used', unit: '', digits: 2 },
    copiesPerSpan: { label: 'copies sent on besides', unit: 'for each span', digits: 2 },
    rss10Mib: mib('memory at 10 % of the time'),
    rss50Mib: mib('memory at 50 %'),
    rss100Mib: mib('memory at 100 %'),
    peakRssMib: mib('memory, highest'),
    memoryRatio: {
      label: 'memory, highest of the last half / of the first',
      unit: '',
      digits: 2,
      target: { atMost: 1.1 },
    },
    databaseMib: mib('database at the end'),
    cpids: { label: 'CPIDs stored at the end', unit: '', digits: 0 },
    tombstones: { label: 'CPIDs pruned by then', unit: '', digits: 0 },
    realSpansPerSecond: { label: 'at real time: spans acknowledged', unit: 'spans/s', digits: 0 },
    realAckP99Ms: { label: 'at real time: reply, 99 % within', unit: 'ms', digits: 1 },
    realCores: { label: 'at real time: cores Causeway used', unit: '', digits: 2 },
    lagP50: seconds('lag beyond what linking waits for, half within'),
    lagP99: { ...seconds('  99 % within'), target: { atMost: 2 } },
    lagMax: seconds('  longest'),
    wholeLagP50: seconds('from a span’s reply to the backend, waits and all, half within'),
    wholeLagP99: seconds('  99 % within'),
  }
}
