import { askedFigures, askedRound } from './asked-fairness.ts'
import { startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import type { FairOrder, FairReport, FromFairSenders } from '../load/fair-senders.ts'
import { percentile, type Figure, type SectionResult } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { untilLinked } from '../measure/link-lag.ts'
import type { Options } from '../options.ts'

const GOOD_SERVICES = ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'kubelet']
const GOOD = {
  services: GOOD_SERVICES,
  spansPerRequest: 32,
  requestsPerSecond: 10,
  connections: 1,
  inFlight: 1,
}
/** On one connection, waiting as it is told. */
const ONE = { services: ['looping-ctl'], connections: 1, inFlight: 200, heedsRetryInfo: true }
interface Flooder extends Omit<FairOrder, 'kind' | 'endpoint' | 'forMs'> {
  /** Said of it in the figures. */
  as: string
  items: string
}
/** Who sends as fast as it can beside the others, one after another, and how many items a request of it has. */
const FLOODERS = {
  One: { ...ONE, spansPerRequest: 512, as: 'beside the looper', items: 'spans' },
  Many: {
    ...{ services: ['looping-ctl'], connections: 50, inFlight: 8 },
    ...{ spansPerRequest: 512, as: 'beside many connections', items: 'spans' },
  },
  Mergelogs: { ...ONE, flood: 'mergelogs', spansPerRequest: 500, as: 'beside mergelogs', items: 'mergelogs' },
  Deep: { ...ONE, flood: 'deepGraph', spansPerRequest: 500, as: 'beside deep chains', items: 'mergelogs' },
  Services: {
    ...ONE,
    flood: 'manyServices',
    spansPerRequest: 256,
    as: 'beside invented services',
    items: 'spans',
  },
} satisfies Record<string, Flooder>
const PHASE_MS = 8_000
const WARM_UP_MS = 2_000
const PERCENT = 100

/** What a sender that floods does to those that do not: how long their requests take alone and beside it. */
export async function benchFairness(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push({ ...(await fairnessRound(options)), ...(await askedRound(options)) })
    onRound()
  }
  return {
    name: 'fairness',
    about:
      `${GOOD_SERVICES.length} senders with ${GOOD.requestsPerSecond} requests of ${GOOD.spansPerRequest} spans a second each, for ` +
      `${PHASE_MS / 1000} s alone, then beside one that sends as fast as it can, and then after it: 512 spans at a time on one connection, waiting when it ` +
      'is told to, and on 50, trying again at once; on one, 500 mergelogs of a dense graph in no order; the same of chains that come ' +
      'backward, 10,000 deep; and 256 spans of 64 services that are new each time; then the same senders and 20 short questions a second, ' +
      'alone and beside one who asks what takes long of rows of 10 MB and a change with 20,000 descendants, from another address and from their own, in turns',
    figures: {
      aloneP50Ms: { label: 'alone, half within', unit: 'ms', digits: 1 },
      aloneP99Ms: { label: 'alone, 99 % within', unit: 'ms', digits: 1 },
      ...Object.fromEntries(
        Object.entries(FLOODERS).flatMap(([name, flooder]) => Object.entries(figuresOf(name, flooder))),
      ),
      ...askedFigures(),
      goodRefused: { label: 'refused of the others', unit: 'requests', digits: 0, target: { atMost: 0 } },
    },
    rounds,
  }
}

function figuresOf(name: string, { as, items }: Flooder): Record<string, Figure> {
  return {
    [`p50Ms${name}`]: { label: `${as}, half within`, unit: 'ms', digits: 1 },
    [`p99Ms${name}`]: { label: `${as}, 99 % within`, unit: 'ms', digits: 1 },
    [`ratio${name}`]: { label: 'its ratio to p99 alone', unit: '', digits: 2, target: { atMost: 2 } },
    [`afterMs${name}`]: { label: 'as soon as it has ended, 99 % within', unit: 'ms', digits: 1 },
    [`taken${name}`]: { label: 'taken meanwhile', unit: `${items}/s`, digits: 0 },
    [`refused${name}`]: { label: 'refused meanwhile of its requests', unit: '%', digits: 0 },
  }
}

async function fairnessRound(options: Options): Promise<Record<string, number>> {
  using good = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts')
  using bad = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts')
  await Promise.all([good.hear('ready'), bad.hear('ready')])
  const figures: Record<string, number> = { goodRefused: 0 }
  for (const [name, flooder] of Object.entries<Flooder | undefined>({ alone: undefined, ...FLOODERS })) {
    using directory = freshDirectory(options.directory)
    const causeway = await startMeasuredCauseway(options, directory.path)
    const run = async (
      helper: HelperProcess<FairOrder, FromFairSenders>,
      order: Omit<FairOrder, 'kind' | 'endpoint'>,
    ): Promise<FairReport> => {
      helper.tell({ kind: 'send', endpoint: causeway.endpoint, ...order })
      return helper.hear('sent', order.forMs + 60_000)
    }
    await run(good, { ...GOOD, forMs: WARM_UP_MS })
    await run(bad, { ...FLOODERS.One, forMs: WARM_UP_MS })
    await untilLinked(causeway.path)
    const [beside, flooded] = await Promise.all([
      run(good, { ...GOOD, forMs: PHASE_MS }),
      flooder && run(bad, { ...flooder, forMs: PHASE_MS }),
    ])
    const after = flooder && (await run(good, { ...GOOD, forMs: PHASE_MS }))
    await causeway.stop()
    const [p50Ms, p99Ms] = [0.5, 0.99].map((part) => percentile(beside.latenciesMs, part))
    for (const { refused, failed } of after === undefined ? [beside] : [beside, after])
      figures['goodRefused'] = (figures['goodRefused'] ?? 0) + refused + failed
    if (flooder === undefined || flooded === undefined || after === undefined) {
      Object.assign(figures, { aloneP50Ms: p50Ms, aloneP99Ms: p99Ms })
      continue
    }
    figures[`p50Ms${name}`] = p50Ms ?? Number.NaN
    figures[`p99Ms${name}`] = p99Ms ?? Number.NaN
    figures[`ratio${name}`] = (p99Ms ?? Number.NaN) / (figures['aloneP99Ms'] ?? Number.NaN)
    figures[`afterMs${name}`] = percentile(after.latenciesMs, 0.99)
    figures[`taken${name}`] = (flooded.accepted * flooder.spansPerRequest) / (PHASE_MS / 1000)
    figures[`refused${name}`] = (PERCENT * flooded.refused) / (flooded.accepted + flooded.refused)
  }
  return figures
}
