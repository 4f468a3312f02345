import { randomInt } from 'node:crypto'
import { runAnchor, type AnchorRun } from '../anchor/anchor-run.ts'
import type { FromAnchorSink, ToAnchorSink } from '../anchor/messages.ts'
import type { Sample } from '../anchor/process-samples.ts'
import { SPANS_PER_CHANGE } from '../anchor/steps.ts'
import { startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { AskOrder, FromAskers } from '../load/fair-askers.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { percentile, type Curve, type SectionResult } from '../measure/figures.ts'
import type { Options } from '../options.ts'

/** Some 1,000 spans and 160 CPIDs a second. */
const CHANGES_PER_SECOND = 53
const ASKED_PER_SECOND = 1
const ASKED = [
  '/api/v1/cascades?limit=20',
  '/jaeger/api/services',
  '/api/v1/facets',
  '/api/v1/spans?limit=100',
]
/** Points of the curve over the whole time. */
const POINTS = 60

/** Memory under a steady load of many minutes: whether it goes on growing, and where it stands. */
export async function benchSoak(options: Options, onRound: () => void): Promise<SectionResult> {
  const { soakMinutes } = options
  const rounds: Record<string, number>[] = []
  const curves: Curve[] = []
  for (let round = 0; round < options.rounds; round++) {
    const run = await soakRound(options)
    rounds.push(figuresOf(run))
    curves[0] = memoryCurve(run)
    onRound()
  }
  return {
    name: 'soak',
    about:
      `${CHANGES_PER_SECOND} Pod changes a second, each ${SPANS_PER_CHANGE} spans, for ${soakMinutes} minutes at real time, linked and sent ` +
      `on to one backend; ${ASKED_PER_SECOND} question a second`,
    figures: {
      spansPerSecond: { label: 'spans acknowledged', unit: 'spans/s', digits: 0 },
      ackP99Ms: { label: 'reply, 99 % within', unit: 'ms', digits: 1 },
      cores: { label: 'cores Causeway used', unit: '', digits: 2 },
      rss10Mib: { label: 'memory at 10 % of the time', unit: 'MiB', digits: 0 },
      rss25Mib: { label: 'memory at 25 %', unit: 'MiB', digits: 0 },
      rss50Mib: { label: 'memory at 50 %', unit: 'MiB', digits: 0 },
      rss75Mib: { label: 'memory at 75 %', unit: 'MiB', digits: 0 },
      rss100Mib: { label: 'memory at 100 %', unit: 'MiB', digits: 0 },
      peakRssMib: { label: 'memory, highest', unit: 'MiB', digits: 0 },
      growthMib: { label: 'growth over the last half', unit: 'MiB/min', digits: 2, target: { atMost: 0.5 } },
      databaseMib: { label: 'database at the end', unit: 'MiB', digits: 0 },
    },
    rounds,
    curves,
  }
}

async function soakRound(options: Options): Promise<AnchorRun> {
  using directory = freshDirectory(options.directory)
  using sink = new HelperProcess<ToAnchorSink, FromAnchorSink>('../anchor/sink.ts')
  using askers = new HelperProcess<AskOrder, FromAskers>('fair-askers.ts')
  const [{ port }] = await Promise.all([sink.hear('ready'), askers.hear('ready')])
  const causeway = await startMeasuredCauseway(options, directory.path, port)
  const seconds = options.soakMinutes * 60
  askers.tell({
    kind: 'ask',
    query: causeway.query,
    paths: ASKED,
    perSecond: ASKED_PER_SECOND,
    connections: 2,
    forMs: seconds * 1000,
  })
  return await runAnchor(causeway, sink, {
    seed: randomInt(2 ** 31),
    changesPerSecond: CHANGES_PER_SECOND,
    firstChange: 0,
    seconds,
    speed: 1,
    beginsMs: Date.now(),
    inFlight: options.inFlight,
    keepsTimes: false,
  }).finally(() => causeway.stop())
}

function figuresOf({
  sent,
  samples,
  spans,
  cpuSeconds,
  reachedMs,
  peakRssMib,
}: AnchorRun): Record<string, number> {
  const tookSeconds = (Math.max(...sent.secondsEndedMs) - sent.startedMs) / 1000
  const at = (part: number): number =>
    percentile(
      around(samples, part).toSorted((a, b) => a - b),
      0.5,
    )
  return {
    spansPerSecond: spans / tookSeconds,
    ackP99Ms: percentile(sent.latenciesMs, 0.99),
    cores: cpuSeconds / ((reachedMs - sent.startedMs) / 1000),
    rss10Mib: at(0.1),
    rss25Mib: at(0.25),
    rss50Mib: at(0.5),
    rss75Mib: at(0.75),
    rss100Mib: at(1),
    peakRssMib,
    growthMib: slopeOf(samples.slice(samples.length >> 1)),
    databaseMib: samples.at(-1)?.databaseMib ?? Number.NaN,
  }
}

/** What memory was for a while up to a part of the time: single samples go up and down by what is garbage. */
function around(samples: readonly Sample[], part: number): number[] {
  const end = Math.round(samples.length * part)
  return samples.slice(Math.max(0, end - Math.ceil(samples.length / POINTS)), end).map(({ rssMib }) => rssMib)
}

/** MiB a minute, by least squares. */
function slopeOf(samples: readonly Sample[]): number {
  const minutes = samples.map(({ atMs }) => atMs / 60_000)
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const meanMinute = mean(minutes)
  const meanMib = mean(samples.map(({ rssMib }) => rssMib))
  let [both, square] = [0, 0]
  samples.forEach(({ rssMib }, place) => {
    const away = (minutes[place] ?? 0) - meanMinute
    both += away * (rssMib - meanMib)
    square += away * away
  })
  return both / square
}

function memoryCurve({ samples }: AnchorRun): Curve {
  const beganMs = samples[0]?.atMs ?? 0
  const points = Array.from({ length: POINTS }, (_, place) => {
    const part = (place + 1) / POINTS
    const sorted = around(samples, part).toSorted((a, b) => a - b)
    const atMs = samples[Math.round(samples.length * part) - 1]?.atMs ?? beganMs
    return {
      x: Math.round((atMs - beganMs) / 60_000),
      median: percentile(sorted, 0.5),
      min: percentile(sorted, 0),
      max: percentile(sorted, 1),
    }
  })
  return {
    title: 'Memory under a steady load',
    xLabel: 'minutes of 1,000 spans a second',
    yLabel: 'MiB',
    series: [{ name: 'resident memory', points }],
  }
}
