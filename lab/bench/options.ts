import { parseArgs } from 'node:util'
import { countOf, oneOf } from '../harness/command-options.ts'

export const SECTIONS = [
  'ingest',
  'ingest-at-scale',
  'ingest-link-export',
  'profile',
  'memory',
  'related',
  'questions',
  'search',
  'dashboard',
  'instrumentation',
  'growth',
  'anchor',
  'fairness',
  'soak',
  'held',
  'kubernetes',
  'kubernetes-api-server',
  'archive',
] as const
export type SectionName = (typeof SECTIONS)[number]

/** Not run unless they are named: a soak takes as long as it is told to, an archive brings 500 MB with it, a search fills 6 GB. */
const ON_REQUEST: readonly SectionName[] = ['soak', 'archive', 'search']

const COMPRESSIONS = ['gzip', 'none'] as const

export interface Options {
  sections: readonly SectionName[]
  rounds: number
  /** Spans a round sends. */
  spans: number
  /** Spans stored before questions are asked; a tenth as many CPIDs. */
  storedSpans: number
  /** How many CPIDs are stored, one measurement after another. */
  cpids: readonly number[]
  /** Simulated seconds of the load anchor, how many of them go by in a second at most, and how long it then runs at 1. */
  anchor: { seconds: number; speed: number; realTimeSeconds: number }
  /** How long memory is watched under a steady load. */
  soakMinutes: number
  /** Spans stored before ingest into a large database is measured. */
  scaleSpans: number
  /** CPIDs that a dead backend has not received. */
  heldCpids: number
  /** Requests under way at once. */
  inFlight: number
  /** What the exporter to the sink does with its requests. */
  compression: (typeof COMPRESSIONS)[number]
  /** Where the databases go; a folder in memory would flatter. */
  directory: string
  /** The script that starts Causeway, so that another checkout can be measured. */
  causeway: string
  /** Node options of the Causeway process. */
  nodeOptions: readonly string[]
  json: string
}

export const USAGE = `npm run bench -- [options]
  --only <section>       ${SECTIONS.join(', ')}; may be given again, kubernetes is both; soak, archive and search are run only when they are named
  --minutes <n>          minutes of a soak (60)
  --rounds <n>           rounds of a section (5)
  --spans <n>            spans of a round (500000)
  --cpids <n,n,…>        CPIDs stored when growth is measured (10000,100000,1000000: 10 minutes); 10000000 wants 16 GB, 20 minutes more
  --anchor-seconds <n>   simulated seconds of a large cluster (3600); a round takes 7 minutes at the speed of 10
  --anchor-speed <n>     simulated seconds in one, if they can be stored as fast; waits are divided by it (10)
  --anchor-real-time <n> seconds after that at the speed of 1 (60)
  --stored-spans <n>     spans stored before questions are asked (1000000), for ingest-at-scale and search (10000000, 10 GB)
  --held <n>             CPIDs that a dead backend holds (1000000)
  --in-flight <n>        requests under way at once (16)
  --compression <kind>   gzip or none, between Causeway and the sink (gzip)
  --dir <folder>         where the databases go (the folder for temporary files)
  --causeway <script>    measure another checkout's bin/causeway.js
  --node-option <option> an option for Causeway's own node, as in --node-option=--cpu-prof; may be given again
  --json <file>          where the figures go (lab/bench/results/latest.json)
The sections but anchor take about half an hour together, anchor seven minutes a round. npm run bench:document puts the figures into docs/reports/benchmarks.md.`

/** Reads the command line; throws an Error that says what to write instead. */
export function readOptions(
  args: string[],
  defaults: Pick<Options, 'directory' | 'causeway' | 'json'>,
): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: {
        type: 'string',
        multiple: true,
        default: SECTIONS.filter((name) => !ON_REQUEST.includes(name)),
      },
      rounds: { type: 'string', default: '5' },
      spans: { type: 'string', default: '500000' },
      cpids: { type: 'string', default: '10000,100000,1000000' },
      'anchor-seconds': { type: 'string', default: '3600' },
      'anchor-speed': { type: 'string', default: '10' },
      'anchor-real-time': { type: 'string', default: '60' },
      minutes: { type: 'string', default: '60' },
      'stored-spans': { type: 'string' },
      held: { type: 'string', default: '1000000' },
      'in-flight': { type: 'string', default: '16' },
      compression: { type: 'string', default: 'gzip' },
      dir: { type: 'string', default: defaults.directory },
      causeway: { type: 'string', default: defaults.causeway },
      'node-option': { type: 'string', multiple: true, default: [] },
      json: { type: 'string', default: defaults.json },
    },
  })
  return {
    sections: [...new Set(values.only.flatMap(sectionsNamed))],
    rounds: countOf('--rounds', values.rounds),
    spans: countOf('--spans', values.spans),
    cpids: values.cpids.split(',').map((text) => countOf('--cpids', text)),
    anchor: {
      seconds: countOf('--anchor-seconds', values['anchor-seconds']),
      speed: countOf('--anchor-speed', values['anchor-speed']),
      realTimeSeconds: countOf('--anchor-real-time', values['anchor-real-time']),
    },
    soakMinutes: countOf('--minutes', values.minutes),
    storedSpans: countOf('--stored-spans', values['stored-spans'] ?? '1000000'),
    scaleSpans: countOf('--stored-spans', values['stored-spans'] ?? '10000000'),
    heldCpids: countOf('--held', values.held),
    inFlight: countOf('--in-flight', values['in-flight']),
    compression: oneOf('--compression', COMPRESSIONS, values.compression),
    directory: values.dir,
    causeway: values.causeway,
    nodeOptions: values['node-option'],
    json: values.json,
  }
}

function sectionsNamed(name: string): SectionName[] {
  const section = oneOf('--only', SECTIONS, name)
  return section === 'kubernetes' ? [section, 'kubernetes-api-server'] : [section]
}
