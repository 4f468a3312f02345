import { picture, table } from '../../charts/markdown.ts'
import { peerVersions } from '../../peers/peer-versions.ts'
import { LOAD } from '../peers/loads.ts'
import { loadTable } from '../peers/load-table.ts'
import { LABELS } from '../peers/programs.ts'
import type { KeptPeers } from './benchmark-data.ts'
import { figureTable } from './figure-rows.ts'
import { measuredText } from './measured-text.ts'
import { peersPlots } from './peers-plots.ts'

/** Causeway beside the Collector and Jaeger. */
export function peersPart(kept: KeptPeers): string {
  const { loads, ratios } = kept.peers
  const rounds = ratios.rounds.length
  return `## peers

${METHOD}

${rounds} round${rounds === 1 ? '' : 's'} in ${Math.ceil(kept.seconds / 60)} minutes${limitOf(kept)}. ${measuredText(kept)}

${loads.map((result) => `### ${LOAD[result.load].label}, ${LOAD[result.load].inFlight} requests under way\n\n${table(loadTable(result), true)}`).join('\n\n')}

${peersPlots(kept.peers)
  .map(({ title, file }) => picture(title, `benchmarks/${file}`))
  .join('\n\n')}

### Ratios

Each is of two runs of the same round; the table has the median over the rounds, the least and the most.

${table(figureTable(ratios), 3)}

${LIMITS}`
}

function limitOf({ settings: { spans, seconds } }: KeptPeers): string {
  return typeof spans === 'number' && typeof seconds === 'number'
    ? `, a run of ${spans.toLocaleString('en-US')} spans or ${seconds} seconds`
    : ''
}

const METHOD = `The same requests, from the same generator, at programs that people already run. Within a round the programs take
turns, each starting in an empty folder, so that whatever else the machine does hits all of them. A run sends its spans as
fast as they are acknowledged, over four connections (over HTTP as many as there are requests), and stops when all are
sent or the time is up. A request that is refused for now is sent again, and counted. Spans are about 420 bytes in protobuf.
Causeway has been sent the mergelogs of the CPIDs beforehand; the others take the CPIDs for attributes.

${table([
  ['program', 'what it does with a span', 'what an acknowledgement means'],
  [
    LABELS.causeway,
    'stores it in SQLite, linkable and asked about by SQL; `traces/out` is left out',
    'it is on the disk: a commit with `synchronous=FULL`',
  ],
  [
    LABELS['causeway-export'],
    'the same, and decides on its trace and parent, and sends it on over gRPC with gzip',
    'the same; what was not sent on yet is sent after a restart',
  ],
  [
    `Collector ${peerVersions.collector}, queue with fsync`,
    'OTLP receiver, no processor, OTLP exporter over gRPC with gzip, `sending_queue` on `file_storage` with `fsync: true`',
    'the request is in the queue on the disk',
  ],
  [
    `Collector ${peerVersions.collector}, queue without fsync`,
    'the same with the default, `fsync: false`',
    'the request is in the queue, with the operating system: it outlives the process, not a power failure',
  ],
  [
    `Jaeger ${peerVersions.jaeger} with Badger`,
    'OTLP receiver, no processor, Badger in a folder, with its defaults otherwise',
    'the spans are in Badger, which does not wait for the disk (`consistency: false`): they outlive the process, not a power failure',
  ],
])}

The Collector's queue has room for everything (\`queue_size\` 1,000,000 requests) and would wait rather than refuse
(\`block_on_overflow\`). \`wait_for_result\` cannot be had with a persistent queue, so it acknowledges what is queued and sends
it on meanwhile; neither it nor Jaeger has a \`batch\` processor, which would acknowledge what is in memory only.

- **Acknowledged**: spans in acknowledged requests, through the time from the first request to the last answer.
- **At the backend**: spans that the sink has, through the time from the first request until the last of them came; a run
  waits for that as long as it may send.
- **CPU**: all threads, user and system, until what was put off is done as well: until Causeway has linked everything, and
  until the queue is empty or the waiting is over. Jaeger's compaction after the last answer is not waited for.
- **Peak memory**: VmHWM. Badger maps its files into memory, and what it touches of them counts.
- **Disk**: blocks of all files after an orderly stop, through the acknowledged spans. Causeway keeps the spans, the Collector's
  queue is empty by then and its file does not shrink by itself, Jaeger keeps the spans.`

const LIMITS = `### Limits of the comparison

- Generator, sink and program share the cores of one machine. The tables say how many cores the program used while spans came
  in, and how many went to programs that have no part in it; what generator and sink used is in the data.
- The three do different things with a span. The Collector does not look into its queue, so it cannot answer questions; Jaeger
  indexes by service, operation, tags and duration; Causeway indexes by change.
- Runs are short. Badger has hardly begun to compact, the Collector's queue has not been long, and Causeway's code has just
  become warm. \`ingest-at-scale\` has Causeway with a large database.
- The settings are the defaults, except where the table above says so. None of the programs was tuned.`
