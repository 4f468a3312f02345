import { parseArgs } from 'node:util'
import { countOf, oneOf } from '../../harness/command-options.ts'
import type { CausewayToStart } from '../../harness/causeway/measured-causeway.ts'
import { LOADS, type LoadName } from './loads.ts'
import { OWN_PROGRAMS, PROGRAMS, type ProgramName } from './programs.ts'

export interface PeersOptions extends CausewayToStart {
  loads: readonly LoadName[]
  programs: readonly ProgramName[]
  rounds: number
  /** Spans sent in one run, if there is time for them. */
  spans: number
  /** When one run stops sending. */
  seconds: number
  /** Where everything that is measured keeps its data; a folder in memory would flatter. */
  directory: string
  json: string
}

export const USAGE = `npm run bench:peers -- [options]
  --without-peers       Causeway alone; else the Collector and Jaeger must be in the cache, or Go there to build them
  --only <program>      ${PROGRAMS.join(', ')}; may be given again
  --load <load>         ${LOADS.join(', ')}; may be given again
  --rounds <n>          rounds, in each of which the programs take turns (3)
  --spans <n>           spans of a run (400000)
  --seconds <n>         for how long a run sends at most (12)
  --dir <folder>        where the databases go (the folder for temporary files)
  --json <file>         where the figures go (lab/bench/results/peers.json)
A run takes up to --seconds, as long again for what a queue still holds, and two seconds more: with the defaults some
4 minutes a round, 12 in all. npm run bench:document puts the figures into docs/reports/benchmarks.md.`

/** Reads the command line; throws an Error that says what to write instead. */
export function readPeersOptions(
  args: string[],
  defaults: Pick<PeersOptions, 'directory' | 'causeway' | 'json'>,
): PeersOptions {
  const { values } = parseArgs({
    args,
    options: {
      'without-peers': { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      load: { type: 'string', multiple: true, default: [...LOADS] },
      rounds: { type: 'string', default: '3' },
      spans: { type: 'string', default: '400000' },
      seconds: { type: 'string', default: '12' },
      dir: { type: 'string', default: defaults.directory },
      json: { type: 'string', default: defaults.json },
    },
  })
  const programs = (values.only ?? PROGRAMS).map((name) => oneOf('--only', PROGRAMS, name))
  return {
    loads: values.load.map((name) => oneOf('--load', LOADS, name)),
    programs: values['without-peers'] ? programs.filter((name) => OWN_PROGRAMS.includes(name)) : programs,
    rounds: countOf('--rounds', values.rounds),
    spans: countOf('--spans', values.spans),
    seconds: countOf('--seconds', values.seconds),
    directory: values.dir,
    json: values.json,
    causeway: defaults.causeway,
    nodeOptions: [],
    compression: 'gzip',
  }
}
