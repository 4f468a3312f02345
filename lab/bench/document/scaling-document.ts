import { spreadOf } from '../measure/figures.ts'
import { grouped } from '../measure/report.ts'
import type { BenchmarkData } from './benchmark-data.ts'

/** What a machine is planned to do of what it can: the rest is for questions, pruning and what comes after an outage. */
const PLANNED = 0.5
/** 5,000 nodes write 300 versions a second that a watch sees, the rate of the section kubernetes; leases are not watched. */
const WRITES_PER_NODE = 300 / 5_000
const PODS_PER_NODE = 30
/** Of the archive: docs/archive.md. */
const ARCHIVED_BYTES_PER_SPAN = 52 + 40
const FLEET = { clusters: 1_000, nodes: 500 }
const DAY_SECONDS = 86_400

/** The sections that it is worked out from. */
export const SCALED_BY = ['ingest-link-export', 'kubernetes', 'memory', 'soak', 'growth', 'archive'] as const

/** docs/scaling.md, from what is kept of the bench. Throws an Error where a section is missing. */
export function renderScaling(data: BenchmarkData): string {
  const sectionOf = (name: string): BenchmarkData['sections'][number] => {
    const found = data.sections.find(({ section }) => section.name === name)
    if (found === undefined) throw new Error(`docs/reports/benchmarks has no ${name}.json`)
    return found
  }
  const median = (name: string, figure: string): number => {
    const spread = spreadOf(sectionOf(name).section.rounds, figure)
    if (spread === undefined) throw new Error(`${name}.json has no ${figure}`)
    return spread.median
  }
  const spansASecond = median('ingest-link-export', 'spansPerSecond')
  const cpuASpan = median('ingest-link-export', 'cpuPerMillion') / 1e6
  const writesASecond = median('kubernetes', 'writesPerSecond')
  const cpuAWrite = median('kubernetes', 'cpuPerMillion') / 1e6
  const archivedASecond = median('archive', 'spansPerSecond')
  const cpuAnArchived = median('archive', 'cpuMicros') / 1e6
  const besideArchived = (rate: number): string => (rate < archivedASecond ? 'less' : 'more')
  const restMib = median('memory', 'restMib')
  const listedMib = median('kubernetes', 'listedMib')
  const soaked = median('soak', 'spansPerSecond') * Number(sectionOf('soak').settings['soakMinutes']) * 60
  const bytesASpan = (median('soak', 'databaseMib') * 2 ** 20) / soaked
  const kibAPod = ((listedMib - restMib) * 1024) / 150_000

  const planned = {
    spans: spansASecond * PLANNED,
    writes: writesASecond * PLANNED,
    archived: archivedASecond * PLANNED,
  }
  const writesOfCluster = FLEET.nodes * WRITES_PER_NODE
  const clustersEach = Math.floor(planned.writes / writesOfCluster)
  const machines = Math.ceil(FLEET.clusters / clustersEach)
  const fleetWrites = FLEET.clusters * writesOfCluster
  const podsEach = clustersEach * FLEET.nodes * PODS_PER_NODE
  const gib = (bytes: number): string => grouped(bytes / 2 ** 30, 0)
  const bytesADay = planned.writes * DAY_SECONDS * bytesASpan

  return `# How far one machine goes, and what then

<!-- Written by npm run bench:document; edit lab/bench/document/scaling-document.ts instead. -->

For whoever plans how many Causeways to run, and where. Every number is measured, or worked out from such; the links
say when and on what. Measure your machine with \`npm run bench\`.

## What one machine carries

A Causeway uses two cores: one thread stores and links, one sends. More cores help questions, not linking.

| | at most | planned (${PLANNED * 100} %) | CPU | measured by |
| --- | ---: | ---: | ---: | --- |
| spans of instrumented controllers, linked and sent on | ${grouped(spansASecond, 0)} a second | ${grouped(planned.spans, 0)} | ${grouped(cpuASpan * 1e6, 0)} s a million | [ingest-link-export](reports/benchmarks.md#ingest-link-export) |
| writes of clusters that are watched, inferred, linked and sent on | ${grouped(writesASecond, 0)} a second | ${grouped(planned.writes, 0)} | ${grouped(cpuAWrite * 1e6, 0)} s a million | [kubernetes](reports/benchmarks.md#kubernetes) |
| spans brought into the archive, ClickHouse on the same machine | ${grouped(archivedASecond, 0)} a second | ${grouped(planned.archived, 0)} | ${grouped(cpuAnArchived * 1e6, 0)} s a million | [archive](reports/benchmarks.md#archive) |

Above ${grouped(archivedASecond, 0)} spans a second the archive falls behind (\`cpid_exporter_lag\`), and SQLite keeps what waits: planned spans are ${besideArchived(planned.spans)},
planned writes ${besideArchived(planned.writes)}.

- **Memory**, resident, mapped files included: ${grouped(restMib, 0)} MiB at rest with a million CPIDs; ${grouped(listedMib, 0)} MiB after 150,000 Pods were listed, ${grouped(kibAPod, 1)} KiB a Pod
  ([memory](reports/benchmarks.md#memory), [kubernetes](reports/benchmarks.md#kubernetes)). \`memory_limiter\` refuses senders before the
  process dies.
- **Disk**: ${grouped(bytesASpan, 0)} bytes a span with all that belongs to it, CPIDs and mergelogs too ([soak](reports/benchmarks.md#soak)). What is
  kept is bounded by \`retention\`: 20 GiB, a week and a million CPIDs by default; the first of them that is reached counts.
- **What is kept**: linking at 10 million CPIDs takes ${grouped(median('growth', 'spanRatio'), 2)} times the CPU that it takes at 10,000
  ([growth](reports/benchmarks.md#growth)). More than 10 million was not measured.
- **Start**: ${grouped(median('growth', 'startMs') / 1000, 1)} s with 10 million CPIDs.

A cluster of 5,000 nodes writes some 300 versions a second that are watched, ${grouped(WRITES_PER_NODE, 2)} a node.
Count your own: \`sum(rate(cpid_inferred_writes[5m]))\`.

## Which engine holds what

| engine | holds | how long | what it is asked |
| --- | --- | --- | --- |
| SQLite, in Causeway | the merge graph, spans until they are sent and as long as retention says, what is waited for | days | linking; the dashboard; SQL on the machine |
| Jaeger, Tempo | linked traces | as you keep traces | what a change did, by people |
| ClickHouse, the [archive](archive.md) | CPIDs, merges, cascades, spans, objects of every Causeway | years | auditors' questions over all clusters |

Causeway needs SQLite alone. An archive that is away delays nothing else.

## When to split

Split when one of these is true, not before:

- the store thread is busy for more than half of the time: \`rate(otelcol_process_cpu_seconds[5m])\` above 1 on two cores;
- \`max_bytes\` or \`max_cpids\` removes changes that are younger than \`max_age\` (\`cpid_pruned_cpids\` rises, and \`causeway cascades\` goes back less far
  than that), and the disk cannot grow;
- clusters lie in regions between which you do not want telemetry to travel.

Split by cluster: the spans and log records of one cluster go to one Causeway, mergelogs to all. Then a change that goes through several clusters
is one trace in the backend, and one graph in the archive. [examples/fleet](../examples/fleet/README.md) has the Collector that does so, by \`k8s.cluster.name\`.
Never send the spans of one cluster to two Causeways in turns: neither would find what caused them.

## ${grouped(FLEET.clusters, 0)} clusters of ${FLEET.nodes} nodes

Worked out, not run. ${FLEET.nodes} nodes write ${grouped(writesOfCluster, 0)} versions a second at the rate above; all clusters ${grouped(fleetWrites, 0)}.

| | each Causeway | all |
| --- | ---: | ---: |
| clusters | ${clustersEach} | ${grouped(FLEET.clusters, 0)} |
| Causeways | 1 | ${machines} |
| writes a second | ${grouped(clustersEach * writesOfCluster, 0)} | ${grouped(fleetWrites, 0)} |
| cores busy | ${grouped(clustersEach * writesOfCluster * cpuAWrite, 1)} | ${grouped(fleetWrites * cpuAWrite, 1)} |
| memory, ${PODS_PER_NODE} Pods a node | ${grouped((restMib + (podsEach * kibAPod) / 1024) / 1024, 1)} GiB | ${grouped((machines * (restMib + (podsEach * kibAPod) / 1024)) / 1024, 0)} GiB |
| SQLite, a day | ${gib(bytesADay)} GiB | ${gib(fleetWrites * DAY_SECONDS * bytesASpan)} GiB |
| archive, a day | ${gib(clustersEach * writesOfCluster * DAY_SECONDS * ARCHIVED_BYTES_PER_SPAN)} GiB | ${gib(fleetWrites * DAY_SECONDS * ARCHIVED_BYTES_PER_SPAN)} GiB |

The rate is that of a busy hour, so the sizes a day are the most. More than 150,000 Pods in one Causeway were not
measured. At this rate 20 GiB hold ${grouped((20 * 2 ** 30) / bytesADay, 1)} days: give SQLite the disk for the days that it is asked about, the archive
the rest. A span takes ${ARCHIVED_BYTES_PER_SPAN} bytes there ([archive.md](archive.md#how-large-how-fast)).
`
}
