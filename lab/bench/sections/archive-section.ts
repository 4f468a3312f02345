import { loadavg } from 'node:os'
import { join } from 'node:path'
import { ArchiveDrain } from '../../../src/exporter/archive.ts'
import { openArchive } from '../../../src/exporter/clickhouse/clickhouse-archive.ts'
import type { ClickHouseSettings } from '../../../src/exporter/clickhouse/clickhouse-exporter.ts'
import { systemClock } from '../../../src/platform/system-clock.ts'
import { SqliteArchiveReader } from '../../../src/store/sqlite/archive-reader.ts'
import { ArchivePositions } from '../../../src/store/sqlite/archives.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { ARCHIVE_RETRY, archiveSettings } from '../../harness/archive-settings.ts'
import { DATABASE } from '../../harness/causeway/measured-causeway.ts'
import { ClickHouseServer } from '../../harness/clickhouse-server.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { fillDatabase } from '../fill/fill-database.ts'
import type { SectionResult } from '../measure/figures.ts'
import type { Options } from '../options.ts'
import { LINKED_PER_SECOND } from './export-section.ts'

const NAME = 'clickhouse'
/** Cascades are whole binary trees of so many CPIDs. */
const TREE = 2_047
const INNER = 1_023
const ASKED = 7

/** What an archive takes in, how large that is there, and how long questions of it take. */
export async function benchArchive(options: Options, onRound: () => void): Promise<SectionResult> {
  await using server = await ClickHouseServer.start()
  const cpids = Math.max(...options.cpids)
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    const database = `round_${round}`
    const taken = await take(
      server,
      archiveSettings(server, database, { intervalMs: 1, timeoutMs: 300_000 }),
      options,
    )
    await grow(server, database, cpids)
    const asked = await ask(server, database, cpids)
    rounds.push({ ...taken, ...asked, load: loadavg()[0] ?? 0 })
    onRound()
  }
  return {
    name: 'archive',
    about:
      `${options.storedSpans.toLocaleString('en-US')} stored spans brought into ClickHouse's own engine on this machine; then ` +
      `${cpids.toLocaleString('en-US')} CPIDs more, in trees of ${TREE.toLocaleString('en-US')}, with an edge and a write each`,
    figures: {
      spansPerSecond: {
        label: 'spans archived, with all that belongs to them',
        unit: 'spans/s',
        digits: 0,
        target: { atLeast: LINKED_PER_SECOND },
      },
      rowsPerSecond: { label: 'rows', unit: 'rows/s', digits: 0 },
      cpuMicros: { label: 'CPU of Causeway, a span archived', unit: 'µs', digits: 0 },
      spanBytes: { label: 'a span, in the tables of the archive', unit: 'bytes', digits: 0 },
      tracedBytes: { label: 'a linked span, in otel_traces', unit: 'bytes', digits: 0 },
      edgeBytes: { label: 'an edge, in one of its two tables', unit: 'bytes', digits: 1 },
      relatedMs: {
        label: `related, ${TREE.toLocaleString('en-US')} CPIDs`,
        unit: 'ms',
        digits: 0,
        target: { atMost: 200 },
      },
      relatedDirectMs: { label: 'the same without the view', unit: 'ms', digits: 0 },
      relatedArgMaxMs: { label: '… by argMax', unit: 'ms', digits: 0 },
      relatedPlainMs: { label: '… without FINAL', unit: 'ms', digits: 0 },
      relatedJoinMs: { label: '… by a join', unit: 'ms', digits: 0 },
      rootsMs: {
        label: 'roots, of a CPID eleven merges deep',
        unit: 'ms',
        digits: 0,
        target: { atMost: 200 },
      },
      podMs: { label: 'what led to this Pod', unit: 'ms', digits: 0, target: { atMost: 200 } },
      load: { label: 'load average of this machine at the end', unit: '', digits: 1 },
      cpidFinalMs: { label: 'a CPID by FINAL', unit: 'ms', digits: 1 },
      cpidArgMaxMs: { label: 'the same by argMax, as audit_cpids has it', unit: 'ms', digits: 1 },
    },
    rounds,
  }
}

async function take(server: ClickHouseServer, settings: ClickHouseSettings, options: Options) {
  using directory = freshDirectory(options.directory)
  const path = join(directory.path, DATABASE)
  await fillDatabase(path, options.storedSpans)
  const db = openForWriting(path)
  const kept = new ArchivePositions(db).keep([NAME]).get(NAME)
  if (kept === undefined) throw new Error('the archive is not kept')
  const host = {
    clock: systemClock,
    userAgent: 'Causeway/bench',
    writeLine: () => undefined,
    onTrouble: () => undefined,
    onLoss: () => undefined,
  }
  await using archive = openArchive(settings, { ...host, instance: kept.instance })
  let rows = 0
  const drain = new ArchiveDrain(kept.position, {
    ...{
      archive,
      reader: new SqliteArchiveReader(db),
      clock: systemClock,
      retry: ARCHIVE_RETRY,
      intervalMs: 1,
    },
    random: () => 0.5,
    onMoved: ({ delivered }) => (rows += delivered),
    onRetry: ({ reason }) => {
      throw new Error(reason)
    },
    onDrop: () => undefined,
    onUnreadable: () => undefined,
  })
  drain.finish()
  const startedMs = performance.now()
  const cpuBefore = process.cpuUsage()
  await drain.run(new AbortController().signal)
  const seconds = (performance.now() - startedMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  db.close()
  const bytes = await bytesOf(server, settings.database)
  const perRow = (...tables: string[]): number =>
    tables.reduce((sum, table) => sum + (bytes.get(table)?.bytes ?? 0), 0) /
    (bytes.get(tables[0] ?? '')?.rows ?? 1)
  return {
    spansPerSecond: options.storedSpans / seconds,
    rowsPerSecond: rows / seconds,
    cpuMicros: (user + system) / options.storedSpans,
    spanBytes: perRow('spans', 'cascade_spans', 'object_events'),
    tracedBytes: perRow('otel_traces'),
  }
}

async function bytesOf(
  server: ClickHouseServer,
  database: string,
): Promise<Map<string, { bytes: number; rows: number }>> {
  for (const table of ['spans', 'cascade_spans', 'object_events', 'otel_traces', 'edges'])
    await server.client.command({ query: `OPTIMIZE TABLE ${database}.${table} FINAL` })
  const parts = await server.rows(
    `SELECT table, toFloat64(sum(bytes_on_disk)) AS bytes, toFloat64(sum(rows)) AS rows FROM system.parts
     WHERE active AND database = {database:String} GROUP BY table`,
    { database },
  )
  return new Map(
    parts.map(({ table, bytes, rows }) => [String(table), { bytes: Number(bytes), rows: Number(rows) }]),
  )
}

const cpidOf = (number: string): string => `reinterpretAsUUID(sipHash128(toUInt64(${number})))`
const sourceOf = `intDiv(number, ${TREE}) * ${TREE} + intDiv(number % ${TREE} - 1, 2)`

/** As many CPIDs as random UUIDs, with what belongs to each, made where they are stored. */
async function grow({ client }: ClickHouseServer, database: string, cpids: number): Promise<void> {
  const from = `FROM numbers(${cpids})`
  const run = (query: string): Promise<unknown> => client.command({ query })
  const common = `'bench' AS causeway, today() AS day, 1 AS version, 0 AS is_deleted`
  for (const table of ['edges', 'edges_by_cpid'])
    await run(
      `INSERT INTO ${database}.${table} (source, cpid, causeway, day, version, is_deleted)
       SELECT ${cpidOf(sourceOf)}, ${cpidOf('number')}, ${common} ${from} WHERE number % ${TREE} > 0`,
    )
  await run(
    `INSERT INTO ${database}.cpids (cpid, state, explained, first_seen, kind, causeway, day, version, is_deleted)
     SELECT ${cpidOf('number')}, 'live', 'yes', now64(3), if(number % ${TREE} = 0, 'root', 'merge'), ${common} ${from}`,
  )
  await run(
    `INSERT INTO ${database}.cascade_changes (cpid, root, episode, trace_id, drives, causeway, day, version, is_deleted)
     SELECT ${cpidOf('number')}, ${cpidOf(`intDiv(number, ${TREE}) * ${TREE}`)} AS root, 0, root, 'yes', ${common} ${from}`,
  )
  await run(
    `INSERT INTO ${database}.object_events (cpid, object, cluster, action, object_version, time, span, causeway, day, version, is_deleted)
     SELECT ${cpidOf('number')}, concat('v1/pods/default/pod-', toString(intDiv(number, 8))), 'prod', 'wrote', number % 8, now64(9), 'update', ${common} ${from}`,
  )
  for (const table of ['edges', 'edges_by_cpid', 'cpids', 'cascade_changes', 'object_events'])
    await run(`OPTIMIZE TABLE ${database}.${table} FINAL`)
}

async function ask(server: ClickHouseServer, database: string, cpids: number) {
  const edges = (await bytesOf(server, database)).get('edges')
  const trees = Math.floor(cpids / TREE)
  /** The median over different cascades. */
  const median = async (queryOf: (tree: number) => string, least: number): Promise<number> => {
    const took: number[] = []
    // The first one only has ClickHouse read what it remembers of the tables.
    for (let time = -1; time < ASKED; time++) {
      const tree = Math.floor((trees * Math.abs(time + 0.5)) / ASKED)
      const query = await withCpids(server, queryOf(tree))
      const startedMs = performance.now()
      const rows = await server.rows(query, {}, database)
      if (time >= 0) took.push(performance.now() - startedMs)
      if (rows.length < least) throw new Error(`${rows.length} rows: ${query}`)
    }
    return took.sort((a, b) => a - b)[Math.floor(ASKED / 2)] ?? 0
  }
  const root = (tree: number): string => `<${tree * TREE}>`
  const leaf = (tree: number): string => `<${tree * TREE + INNER}>`
  const below = (tree: number, next: string): string =>
    `WITH RECURSIVE r AS (SELECT toUUID('${root(tree)}') AS cpid UNION ALL ${next}) SELECT DISTINCT cpid FROM r`
  return {
    edgeBytes: (edges?.bytes ?? 0) / (edges?.rows ?? 1),
    relatedMs: await median((tree) => `SELECT * FROM related(cpid = '${root(tree)}')`, TREE),
    relatedDirectMs: await median(
      (tree) =>
        below(tree, 'SELECT DISTINCT s.cpid FROM edges AS s FINAL PREWHERE s.source IN (SELECT cpid FROM r)'),
      TREE,
    ),
    relatedArgMaxMs: await median(
      (tree) =>
        below(
          tree,
          'SELECT cpid FROM edges WHERE source IN (SELECT cpid FROM r) GROUP BY source, cpid HAVING argMax(is_deleted, version) = 0',
        ),
      TREE,
    ),
    relatedPlainMs: await median(
      (tree) => below(tree, 'SELECT DISTINCT cpid FROM edges WHERE source IN (SELECT cpid FROM r)'),
      TREE,
    ),
    relatedJoinMs: await median(
      (tree) => below(tree, 'SELECT DISTINCT e.cpid FROM edges AS e JOIN r ON r.cpid = e.source'),
      TREE,
    ),
    rootsMs: await median((tree) => `SELECT * FROM roots(cpid = '${leaf(tree)}')`, 1),
    podMs: await median(
      (tree) => `WITH RECURSIVE last AS (
  SELECT cpid FROM audit_object_events WHERE object = 'v1/pods/default/pod-${Math.floor((tree * TREE + INNER) / 8)}' AND action = 'wrote'
  ORDER BY object_version DESC LIMIT 1
), above AS (
  SELECT cpid FROM last UNION ALL SELECT DISTINCT source FROM audit_edges_by_cpid WHERE cpid IN (SELECT cpid FROM above)
)
SELECT if(cpid IN (SELECT root FROM audit_cascade_changes WHERE cpid IN (SELECT cpid FROM last) AND drives = 'yes'), 'yes', 'no') AS drives,
  merged_at, reason, cpid FROM audit_cpids WHERE cpid IN (SELECT cpid FROM above) AND kind = 'root'`,
      1,
    ),
    cpidFinalMs: await median((tree) => `SELECT * FROM cpids FINAL WHERE cpid = '${leaf(tree)}'`, 1),
    cpidArgMaxMs: await median((tree) => `SELECT * FROM audit_cpids WHERE cpid = '${leaf(tree)}'`, 1),
  }
}

/** The query with the CPID of each number that stands in it as `<number>`. */
async function withCpids(server: ClickHouseServer, query: string): Promise<string> {
  let text = query
  for (const [, number = ''] of query.matchAll(/<(\d+)>/g)) {
    const [row] = await server.rows(`SELECT ${cpidOf(number)} AS cpid`)
    text = text.replaceAll(`<${number}>`, String(row?.['cpid']))
  }
  return text
}
