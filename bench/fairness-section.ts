import { startCauseway } from './causeway-process.ts'
import type { FairOrder, FairReport, FromFairSenders } from './fair-senders.ts'
import { percentile, type SectionResult } from './figures.ts'
import { freshDirectory } from './fresh-directory.ts'
import { HelperProcess } from './helper-process.ts'
import { untilLinked } from './link-lag.ts'
import type { Options } from './options.ts'

const GOOD_SERVICES = ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'kubelet']
const GOOD = {
  services: GOOD_SERVICES,
  spansPerRequest: 32,
  requestsPerSecond: 10,
  connections: 1,
  inFlight: 1,
}
const LOOPING = { services: ['looping-ctl'], spansPerRequest: 512 }
/** How the looping controller sends: on one connection, waiting as it is told, or on many and minding nothing. */
const LOOPERS = {
  One: { ...LOOPING, connections: 1, inFlight: 200, heedsRetryInfo: true },
  Many: { ...LOOPING, connections: 50, inFlight: 8 },
}
const PHASE_MS = 10_000
const WARM_UP_MS = 2_000
const PERCENT = 100

/** What a controller that loops does to those that do not: how long their requests take alone and beside it. */
export async function benchFairness(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await fairnessRound(options))
    onRound()
  }
  return {
    name: 'fairness',
    about:
      `${GOOD_SERVICES.length} senders with ${GOOD.requestsPerSecond} requests of ${GOOD.spansPerRequest} spans a second each, for ` +
      `${PHASE_MS / 1000} s alone, then beside one that sends ${LOOPING.spansPerRequest} spans at a time as fast as it can, on ` +
      `${LOOPERS.One.connections} connection, waiting when it is told to, and on ${LOOPERS.Many.connections}, trying again at once`,
    figures: {
      aloneP50Ms: { label: 'alone, half within', unit: 'ms', digits: 1 },
      aloneP99Ms: { label: 'alone, 99 % within', unit: 'ms', digits: 1 },
      p50MsOne: { label: 'beside the looper, half within', unit: 'ms', digits: 1 },
      p99MsOne: { label: 'beside the looper, 99 % within', unit: 'ms', digits: 1 },
      ratioOne: { label: 'p99 beside it to p99 alone', unit: '', digits: 2, target: { atMost: 2 } },
      looperSpansOne: { label: 'taken from the looper', unit: 'spans/s', digits: 0 },
      looperRefusedOne: { label: 'refused of its requests', unit: '%', digits: 0 },
      p50MsMany: { label: 'beside many connections, half within', unit: 'ms', digits: 1 },
      p99MsMany: { label: 'beside many connections, 99 % within', unit: 'ms', digits: 1 },
      ratioMany: { label: 'p99 beside them to p99 alone', unit: '', digits: 2, target: { atMost: 2 } },
      looperSpansMany: { label: 'taken from the looper', unit: 'spans/s', digits: 0 },
      looperRefusedMany: { label: 'refused of its requests', unit: '%', digits: 0 },
      goodRefused: { label: 'refused of the others', unit: 'requests', digits: 0, target: { atMost: 0 } },
    },
    rounds,
  }
}

async function fairnessRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  using good = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts')
  using bad = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts')
  await Promise.all([good.hear('ready'), bad.hear('ready')])
  const causeway = await startCauseway(options, directory.path)
  const { endpoint } = causeway
  const run = async (
    helper: HelperProcess<FairOrder, FromFairSenders>,
    order: Omit<FairOrder, 'kind' | 'endpoint'>,
  ): Promise<FairReport> => {
    helper.tell({ kind: 'send', endpoint, ...order })
    return helper.hear('sent', order.forMs + 60_000)
  }
  await run(good, { ...GOOD, forMs: WARM_UP_MS })
  await run(bad, { ...LOOPERS.One, forMs: WARM_UP_MS })
  await untilLinked(causeway.path)
  const alone = await run(good, { ...GOOD, forMs: PHASE_MS })
  const figures: Record<string, number> = {
    aloneP50Ms: percentile(alone.latenciesMs, 0.5),
    aloneP99Ms: percentile(alone.latenciesMs, 0.99),
    goodRefused: lostOf(alone),
  }
  for (const [name, looper] of Object.entries(LOOPERS)) {
    const [beside, looped] = await Promise.all([
      run(good, { ...GOOD, forMs: PHASE_MS }),
      run(bad, { ...looper, forMs: PHASE_MS }),
    ])
    const p99Ms = percentile(beside.latenciesMs, 0.99)
    figures[`p50Ms${name}`] = percentile(beside.latenciesMs, 0.5)
    figures[`p99Ms${name}`] = p99Ms
    figures[`ratio${name}`] = p99Ms / (figures['aloneP99Ms'] ?? Number.NaN)
    figures[`looperSpans${name}`] = (looped.accepted * looper.spansPerRequest) / (PHASE_MS / 1000)
    figures[`looperRefused${name}`] = (PERCENT * looped.refused) / (looped.accepted + looped.refused)
    figures['goodRefused'] = (figures['goodRefused'] ?? 0) + lostOf(beside)
  }
  await causeway.stop()
  return figures
}

const lostOf = ({ refused, failed }: FairReport): number => refused + failed
