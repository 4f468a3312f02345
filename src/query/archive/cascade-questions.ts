import type { ArchivedCascade } from '../../model/archive.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import type { CascadeFacts, CascadeFilter } from '../../model/queries.ts'
import { SELF_REASONS } from '../../model/seen-write.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { amongCpids, type ArchiveClient, quote, textOf } from './archive-client.ts'
import { count, cpid, flag, integer, type RowOf, textIfAny, traceId } from './row-columns.ts'

/** A cascade, and the Causeway that reported it; undefined if that one has no name in the archive. */
export interface FleetCascade extends Omit<CascadeFacts, 'position'> {
  readonly causeway: string | undefined
}

/** The position of a cascade in the list: newest first, then by root and Causeway. */
export interface CascadePlace {
  readonly startNs: UnixNanos
  readonly root: Cpid
  readonly causeway: string
}

/** Negative if the first place comes before the second. */
export function inOrder(a: CascadePlace, b: CascadePlace): number {
  if (a.startNs !== b.startNs) return a.startNs > b.startNs ? -1 : 1
  if (a.root !== b.root) return a.root < b.root ? -1 : 1
  return a.causeway < b.causeway ? -1 : Number(a.causeway > b.causeway)
}

export function placeOf({ startNs, root, causeway = '' }: FleetCascade): CascadePlace {
  return { startNs, root, causeway }
}

type Column = readonly [name: string, type: string, from: string, of: (trace: ArchivedCascade) => unknown]

/** The columns of a trace: name and type in a JSON tuple, expression on the table, value of an unarchived trace. Times are in ns. */
const COLUMNS: readonly Column[] = [
  ['x_episode', 'UInt32', 's.episode', (t) => t.episode],
  ['x_trace', 'String', "replaceAll(toString(s.trace_id), '-', '')", (t) => t.traceId],
  ['x_open', 'UInt8', "s.state = 'open'", (t) => Number(t.isOpen)],
  ['x_first', 'Int64', 'toUnixTimestamp64Nano(s.start)', (t) => t.firstNs],
  ['x_last', 'Int64', 'toUnixTimestamp64Nano(s.last_activity)', (t) => t.lastNs],
  ['x_spans', 'UInt32', 's.spans', (t) => t.spans],
  ['x_failed', 'UInt32', 's.failed', (t) => t.failed],
  ['x_merges', 'UInt32', 's.merges', (t) => t.merges],
  ['x_missing', 'UInt32', 's.missing', (t) => t.missing],
  ['x_truncated', 'UInt8', "s.truncated = 'yes'", (t) => Number(t.truncated)],
  ['x_skew', 'UInt8', "s.clock_skew = 'yes'", (t) => Number(t.clockSkew)],
  ['x_doubtful', 'UInt8', "s.doubtful_times = 'yes'", (t) => Number(t.hasDoubtfulTimes)],
  // Older rows have `object` alone.
  ['x_reference', 'Nullable(String)', 'coalesce(s.reference, s.object)', (t) => t.reference],
  ['x_service', 'Nullable(String)', 'CAST(s.service AS Nullable(String))', (t) => t.service],
  ['x_cluster', 'Nullable(String)', 'CAST(s.cluster AS Nullable(String))', (t) => t.cluster],
  ['x_reason', 'Nullable(String)', 's.reason', (t) => t.reason],
  ['x_began', 'String', textOf('s.began_by'), (t) => t.beganBy ?? ''],
  ['x_gaps', 'UInt32', 's.gaps', (t) => t.gaps],
  ['x_missed', 'UInt32', 's.missed_versions', (t) => t.missedVersions],
  ['x_services', 'Array(String)', 'CAST(s.service_names AS Array(String))', (t) => t.serviceNames],
  ['x_actors', 'Array(String)', 'CAST(s.actors AS Array(String))', (t) => t.actors],
  ['x_namespaces', 'Array(String)', 'CAST(s.namespaces AS Array(String))', (t) => t.namespaces],
]

const tupleOf = (trace: ArchivedCascade): unknown[] => [
  ...[trace.root, Number(trace.isGone)],
  ...COLUMNS.map(([, , , of]) => of(trace)),
]

function jsonOf(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  return Array.isArray(value) ? `[${value.map(jsonOf).join()}]` : JSON.stringify(value)
}

const TUPLE = `Tuple(r String, g UInt8, ${COLUMNS.map(([name, type]) => `${name} ${type}`).join(', ')})`

/** The rows of this Causeway as a table `tail`. They replace rows of the archive with the same key. */
function tailOf(traces: readonly ArchivedCascade[], causeway: string): string {
  const columns = COLUMNS.map(([name]) => `t.${name} AS ${name}`).join(', ')
  return `tail AS (SELECT toUUID(t.r) AS root, ${quote(causeway)} AS causeway, t.g AS gone, ${columns}
    FROM (SELECT arrayJoin(JSONExtract(${quote(jsonOf(traces.map(tupleOf)))}, 'Array(${TUPLE})')) AS t))`
}

interface Asked {
  readonly filter: CascadeFilter
  /** Only cascades after this position. */
  readonly after: CascadePlace | undefined
  readonly most: number
  /** Traces of this Causeway whose current state is not in the archive, and its name there. */
  readonly tail: readonly ArchivedCascade[]
  readonly causeway: string
  /** Only the cascades of these roots. */
  readonly roots: readonly Cpid[] | undefined
}

const CASCADE = {
  ...{ root_text: cpid, causeway: textIfAny, trace: traceId, open: flag, start: integer, last: integer },
  ...{ traces: count, spans: count, failed: count, services: count, merges: count, missing: count },
  ...{ truncated: flag, skew: flag, reference: textIfAny, service: textIfAny, cluster: textIfAny },
  ...{ reason: textIfAny, began: textIfAny, gaps: count, missed: count },
}
const NEWEST = { newest: integer, found: count }

const DAY_NS = 86_400_000_000_000n
/** The time windows that are searched one after the other until there are enough cascades, in days; undefined is all time. */
const DAYS = [2n, 32n, undefined]

/** Lists cascades, newest first, from the archive and from `tail`. Throws ArchiveSilent. */
export async function askCascades(
  archive: ArchiveClient,
  asked: Asked,
  deadline: AbortSignal,
): Promise<FleetCascade[]> {
  if (asked.roots?.length === 0) return []
  const newest = asked.after?.startNs ?? (await newestStart(archive, asked, deadline))
  if (newest === undefined) return []
  for (const days of asked.roots === undefined ? DAYS : [undefined]) {
    const least = days === undefined ? undefined : newest - days * DAY_NS
    const found = await archive.rows(CASCADE, statementOf(archive, asked, least), deadline)
    if (found.length >= asked.most || days === undefined) return found.map(factsOf)
  }
  return []
}

async function newestStart(
  archive: ArchiveClient,
  { tail }: Asked,
  deadline: AbortSignal,
): Promise<UnixNanos | undefined> {
  const [row] = await archive.rows(
    NEWEST,
    `SELECT toString(toUnixTimestamp64Nano(max(start))) AS newest, count() AS found FROM ${archive.name('cascades')}`,
    deadline,
  )
  const starts = tail.map(({ firstNs }) => firstNs)
  if (row !== undefined && row.found > 0) starts.push(row.newest)
  return starts.length === 0 ? undefined : starts.reduce((a, b) => (a > b ? a : b))
}

/** Selects traces that begin at `least` or later, with the other traces of their cascades. */
function statementOf(archive: ArchiveClient, asked: Asked, least: UnixNanos | undefined): string {
  const { filter, after, most, tail, causeway, roots } = asked
  const table = archive.name('cascades')
  const hasTail = tail.length > 0
  const columns = COLUMNS.map(([name, , from]) => `${from} AS ${name}`).join(', ')
  const names = COLUMNS.map(([name]) => name).join(', ')
  const inWindow = (root: string): string =>
    least === undefined
      ? roots === undefined
        ? '1'
        : `${root} GLOBAL IN (${amongCpids(roots)})`
      : `${root} GLOBAL IN (SELECT w.root FROM ${table} AS w WHERE w.start >= fromUnixTimestamp64Nano(toInt64(${least}))${
          hasTail ? ' UNION ALL SELECT root FROM tail' : ''
        })`
  const mine = hasTail
    ? ` AND (s.root, s.episode, s.causeway) GLOBAL NOT IN (SELECT root, x_episode, causeway FROM tail)`
    : ''
  const having = [
    ...conditionsOf(filter),
    ...(roots === undefined || !hasTail ? [] : [`u.root GLOBAL IN (${amongCpids(roots)})`]),
    ...(least === undefined ? [] : [`start_ns >= ${least}`]),
    ...(after === undefined ? [] : [isAfter(after)]),
  ]
  return `${hasTail ? `WITH ${tailOf(tail, causeway)} ` : ''}SELECT toString(u.root) AS root_text, u.causeway AS causeway,
  argMin(x_trace, x_episode) AS trace, max(x_open) AS open,
  if(countIf(x_doubtful = 0) > 0, minIf(x_first, x_doubtful = 0), min(x_first)) AS start_ns, toString(start_ns) AS start,
  toString(if(countIf(x_doubtful = 0) > 0, maxIf(x_last, x_doubtful = 0), max(x_last))) AS last,
  count() AS traces, sum(x_spans) AS spans, sum(x_failed) AS failed, sum(x_merges) AS merges, sum(x_missing) AS missing,
  max(x_truncated) AS truncated, max(x_skew) AS skew, argMax(x_reference, x_episode) AS reference, argMax(x_service, x_episode) AS service,
  argMax(x_cluster, x_episode) AS cluster, argMax(x_reason, x_episode) AS reason, argMinIf(x_began, x_episode, x_began != '') AS began,
  sum(x_gaps) AS gaps, sum(x_missed) AS missed, groupUniqArrayArray(x_services) AS names, length(names) AS services,
  groupUniqArrayArray(x_actors) AS actors, groupUniqArrayArray(x_namespaces) AS namespaces
FROM (
  SELECT s.root AS root, CAST(s.causeway AS String) AS causeway, ${columns} FROM ${table} AS s FINAL WHERE ${inWindow('s.root')}${mine}${
    hasTail
      ? `
  UNION ALL SELECT root, causeway, ${names} FROM tail WHERE gone = 0`
      : ''
  }
) AS u
GROUP BY u.root, u.causeway${having.length === 0 ? '' : `\nHAVING ${having.join(' AND ')}`}
ORDER BY start_ns DESC, root_text, causeway LIMIT ${most}`
}

const BEGAN_BY_ITSELF = `match(ifNull(reason, ''), '^(${SELF_REASONS.join('|')}): [^ ]+ by ')`

function conditionsOf(filter: CascadeFilter): string[] {
  const { state, cause, object, service, cluster, actor, namespace, fromNs, toNs } = filter
  const named = object?.replace(/^\/+|\/+$/g, '')
  return [
    ...(state === undefined ? [] : [`open = ${state === 'open' ? 1 : 0}`]),
    ...(cause === undefined ? [] : [cause === 'self' ? BEGAN_BY_ITSELF : `NOT ${BEGAN_BY_ITSELF}`]),
    ...(named === undefined
      ? []
      : [
          `(reference = ${quote(named)} OR position(concat('/', splitByChar('?', ifNull(reference, ''))[1], '/'), ${quote(`/${named}/`)}) > 0)`,
        ]),
    ...(service === undefined ? [] : [`(service = ${quote(service)} OR has(names, ${quote(service)}))`]),
    ...(cluster === undefined ? [] : [`cluster = ${quote(cluster)}`]),
    ...(actor === undefined
      ? []
      : [`(service = ${quote(actor)} OR has(actors, ${quote(actor)}) OR has(names, ${quote(actor)}))`]),
    ...(namespace === undefined ? [] : [`has(namespaces, ${quote(namespace)})`]),
    ...(fromNs === undefined ? [] : [`max(x_last) >= ${fromNs}`]),
    ...(toNs === undefined ? [] : [`min(x_first) <= ${toNs}`]),
  ]
}

function isAfter({ startNs, root, causeway }: CascadePlace): string {
  return `(start_ns < ${startNs} OR start_ns = ${startNs} AND (root_text, causeway) > (${quote(root)}, ${quote(causeway)}))`
}

function factsOf(row: RowOf<typeof CASCADE>): FleetCascade {
  const { root_text, trace, start, last, reference, began, missed, skew, ...facts } = row
  return {
    ...facts,
    ...{ root: root_text, traceId: Buffer.from(trace, 'hex'), startNs: start, lastNs: last },
    ...{ object: reference, actor: began, missedVersions: missed, clockSkew: skew },
    // The archive has no column for this, only the spans that report it.
    supersededBy: undefined,
  }
}
