import { parseArgs } from 'node:util'
import { countOf, oneOf } from '../harness/command-options.ts'

export const PARTS = [
  'merges',
  'overhead',
  'operator',
  'informers',
  'replacement',
  'traceability',
  'durations',
  'inference',
] as const
export type Part = (typeof PARTS)[number]
/** Measured only when they are asked for by name: they build programs in Go, one of them a Kubernetes control plane. */
const IN_GO: readonly Part[] = ['operator', 'informers']

export interface Options {
  parts: readonly Part[]
  /** Seeds of the ordinary runs. */
  seeds: number
  /** Histories of a cluster that are played and seen from outside. */
  histories: number
  /** Seeds of the runs that differ in some way. */
  variantSeeds: number
  /** Runs on the real clock with instrumentation, and as many without. */
  pairs: number
  /** Rounds of the CPU measurement. */
  rounds: number
  /** Commands of kubectl on a real cluster, and as many with Causeway. */
  commands: number
  /** Runs of each operator there, and how many WebApps it is given at once. */
  operatorPairs: number
  webApps: number
  /** What informers are filled with, how much of it changes then, and pairs of runs in each language. */
  informerObjects: number
  informerChanges: number
  informerPairs: number
  /** The folder that the document and its data go into. */
  out: string
}

export const USAGE = `npm run evaluate -- [options]
  --only <part>   ${PARTS.join(', ')}; may be given again; operator, on a real cluster, and informers have to be asked for
  --quick         two seeds, 20 histories, one pair, two rounds: to see that it works; writes to a folder for temporary files
  --pairs <n>     calm pairs of runs on the real clock to wait for, about 17 s each; twice as many at most (15)
  --out <folder>  where evaluation.md and evaluation/ go (docs/reports)`

const FULL = {
  seeds: 10,
  histories: 1_000,
  variantSeeds: 3,
  pairs: 15,
  rounds: 15,
  ...{ commands: 15, operatorPairs: 5, webApps: 200 },
  ...{ informerObjects: 100_000, informerChanges: 20_000, informerPairs: 3 },
}
const QUICK = {
  seeds: 2,
  histories: 20,
  variantSeeds: 1,
  pairs: 1,
  rounds: 2,
  ...{ commands: 2, operatorPairs: 1, webApps: 5 },
  ...{ informerObjects: 500, informerChanges: 100, informerPairs: 1 },
}

/** Reads the command line; throws an Error that says what to write instead. */
export function readOptions(args: string[], defaults: { reports: string; scratch: () => string }): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string', multiple: true, default: PARTS.filter((part) => !IN_GO.includes(part)) },
      quick: { type: 'boolean', default: false },
      pairs: { type: 'string' },
      out: { type: 'string' },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    ...size,
    parts: values.only.map((name) => oneOf('--only', PARTS, name)),
    pairs: values.pairs === undefined ? size.pairs : countOf('--pairs', values.pairs),
    out: values.out ?? (values.quick ? defaults.scratch() : defaults.reports),
  }
}
