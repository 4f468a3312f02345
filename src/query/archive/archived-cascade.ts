import { SPAN_KINDS, SPAN_STATUSES, STATUS_ERROR } from '../../model/arrivals.ts'
import { CPID_ID, CPID_SYNTHETIC, CPID_TIME } from '../../model/attributes.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import {
  type CascadeFacts,
  type LinkedSpan,
  type MergelogFacts,
  type TraceFacts,
} from '../../model/queries.ts'
import { WRITE_CAUSES } from '../../model/seen-write.ts'
import type { CascadeRead } from '../cascade-json.ts'
import { type ArchiveClient, ArchiveSilent, quote, referenceIn, textOf } from './archive-client.ts'
import {
  count,
  cpid,
  cpidIfAny,
  flag,
  integer,
  listOf,
  numberIfAny,
  type RowOf,
  spanId,
  spanIdIfAny,
  text,
  textIfAny,
  traceId,
} from './row-columns.ts'
import { KnownCpids } from './known-cpids.ts'
import { NOTHING_HERE } from './asking-parts.ts'

/** The most spans of a cascade, since its answer is built in memory. */
const MOST_SPANS = 20_000
/** ClickHouse's error for a missing table: spans are not archived in the form for backends. */
const NO_TABLE = 'UNKNOWN_TABLE'

/** The columns of a trace of a cascade, as one Causeway archived it. */
const TRACE = { causeway: text, episode: count, trace: traceId }
type ArchivedTrace = RowOf<typeof TRACE>

const TRACE_OF_CASCADE = {
  ...TRACE,
  ...{
    continues: text,
    open: flag,
    first: integer,
    last: integer,
    spans: count,
    failed: count,
    merges: count,
  },
  ...{
    missing: count,
    truncated: flag,
    skew: flag,
    doubtful: flag,
    reference: textIfAny,
    service: textIfAny,
  },
  ...{ cluster: textIfAny, reason: textIfAny, began: textIfAny, gaps: count, missed: count },
  services: listOf(text),
}
type TraceRow = RowOf<typeof TRACE_OF_CASCADE>

const SPAN = {
  ...{ trace: traceId, cpid: cpidIfAny, span: integer, parent: integer, name: text, service: text },
  ...{ cluster: textIfAny, start: integer, end: integer, kind: text, status: text, digest: integer },
  ...{ waited: numberIfAny, copy: text, activity: text, actor: textIfAny, cause: text, gap: text },
}
type SpanRow = RowOf<typeof SPAN>

/** The columns of a span that Causeway added. */
const OWN_SPAN = {
  ...{ trace: traceId, span: spanId, parent: spanIdIfAny, name: text, kind: text, service: text },
  ...{ start: integer, duration: integer, cpid: text, time: text },
}
type OwnSpanRow = RowOf<typeof OWN_SPAN>

const REFERENCE = { span: integer, digest: integer, wrote: flag, ref: text }
type ReferenceRow = RowOf<typeof REFERENCE>

const ns = (column: string): string => `toString(toUnixTimestamp64Nano(${column}))`
const hexOf = (column: string): string => `replaceAll(toString(${column}), '-', '')`

/** The traces of a cascade in the archive, and the Causeway of each. Throws ArchiveSilent. */
export async function archivedTraces(
  archive: ArchiveClient,
  root: Cpid,
  deadline: AbortSignal,
): Promise<ArchivedTrace[]> {
  return await archive.rows(
    TRACE,
    `SELECT CAST(s.causeway AS String) AS causeway, s.episode AS episode, ${hexOf('s.trace_id')} AS trace
     FROM ${archive.name('cascades')} AS s FINAL WHERE s.root = ${quote(root)} ORDER BY causeway, episode`,
    deadline,
  )
}

/** Reads a cascade, with the parts of all Causeways that archived it; undefined if the archive has none. Throws ArchiveSilent. */
export async function readCascade(
  archive: ArchiveClient,
  root: Cpid,
  deadline: AbortSignal,
): Promise<ArchivedCascade | undefined> {
  const traces = await archive.rows(
    TRACE_OF_CASCADE,
    `SELECT CAST(s.causeway AS String) AS causeway, s.episode AS episode, ${hexOf('s.trace_id')} AS trace,
       ifNull(${hexOf('s.continues')}, '') AS continues, s.state = 'open' AS open, ${ns('s.start')} AS first, ${ns('s.last_activity')} AS last,
       s.spans AS spans, s.failed AS failed, s.merges AS merges, s.missing AS missing, s.truncated = 'yes' AS truncated,
       s.clock_skew = 'yes' AS skew, s.doubtful_times = 'yes' AS doubtful, ifNull(coalesce(s.reference, s.object), '') AS reference,
       ${textOf('s.service')} AS service, ${textOf('s.cluster')} AS cluster, ifNull(s.reason, '') AS reason, ${textOf('s.began_by')} AS began,
       s.gaps AS gaps, s.missed_versions AS missed, CAST(s.service_names AS Array(String)) AS services
     FROM ${archive.name('cascades')} AS s FINAL WHERE s.root = ${quote(root)} ORDER BY episode, causeway`,
    deadline,
  )
  if (traces.length === 0) return undefined
  const ofRoot = `FROM ${archive.name('cascade_spans')} AS s FINAL WHERE s.root = ${quote(root)}`
  const spans = await archive.rows(
    SPAN,
    `SELECT ${hexOf('s.trace_id')} AS trace, toString(s.cpid) AS cpid, toString(s.span_id) AS span, toString(s.parent_span_id) AS parent,
       CAST(s.name AS String) AS name, ${textOf('s.service')} AS service, ${textOf('s.cluster')} AS cluster, ${ns('s.start')} AS start,
       ${ns('s.end')} AS end, CAST(s.kind AS String) AS kind, CAST(s.status AS String) AS status, toString(s.digest) AS digest,
       s.waited_ms AS waited, CAST(s.copy AS String) AS copy, CAST(s.activity AS String) AS activity, ${textOf('s.actor')} AS actor,
       ${textOf('s.cause')} AS cause, ${textOf('s.gap')} AS gap ${ofRoot}
     ORDER BY s.start, s.arrival LIMIT 1 BY trace, s.span_id, s.digest LIMIT ${MOST_SPANS + 1}`,
    deadline,
  )
  const within = `SELECT s.span_id, s.digest ${ofRoot}`
  const [first, last] = boundsOf(spans)
  const references = await archive.rows(
    REFERENCE,
    `SELECT toString(s.span_id) AS span, toString(s.digest) AS digest, s.action = 'wrote' AS wrote,
       ${referenceIn('event')} AS ref
     FROM ${archive.name('object_events')} AS s FINAL
     WHERE s.time >= fromUnixTimestamp64Nano(toInt64(${first})) AND s.time <= fromUnixTimestamp64Nano(toInt64(${last}))
       AND (s.span_id, s.digest) GLOBAL IN (${within}) ORDER BY ref`,
    deadline,
  )
  const cpids = (
    await archive.rows(
      { cpid },
      `SELECT DISTINCT toString(s.cpid) AS cpid FROM ${archive.name('cascade_changes')} AS s FINAL WHERE s.root = ${quote(root)}`,
      deadline,
    )
  ).map(({ cpid }) => cpid)
  const known = new KnownCpids(NOTHING_HERE, undefined)
  await known.ask(archive, cpids, deadline)
  await known.askSources(archive, cpids, deadline)
  const own = await ownSpans(archive, traces, deadline)
  return new ArchivedCascade(root, { traces, spans, references, cpids, known, own })
}

/** The spans that Causeway added; undefined if the archive has no table of spans in the form for backends. */
async function ownSpans(
  archive: ArchiveClient,
  traces: readonly TraceRow[],
  deadline: AbortSignal,
): Promise<OwnSpanRow[] | undefined> {
  const ids = amongTexts(traces.map(({ trace }) => trace))
  try {
    return await archive.rows(
      OWN_SPAN,
      `SELECT s.TraceId AS trace, s.SpanId AS span, s.ParentSpanId AS parent, CAST(s.SpanName AS String) AS name,
         CAST(s.SpanKind AS String) AS kind, CAST(s.ServiceName AS String) AS service, ${ns('s.Timestamp')} AS start,
         toString(s.Duration) AS duration, s.SpanAttributes[${quote(CPID_ID)}] AS cpid, s.SpanAttributes[${quote(CPID_TIME)}] AS time
       FROM ${archive.name('otel_traces')} AS s FINAL
       WHERE s.TraceId IN (${ids}) AND mapContains(s.SpanAttributes, ${quote(CPID_SYNTHETIC)})
         AND match(s.SpanId, '^[0-9a-f]{16}$') AND match(s.ParentSpanId, '^([0-9a-f]{16})?$')
       ORDER BY s.Timestamp, s.Duration DESC LIMIT 1 BY trace, span LIMIT ${MOST_SPANS}`,
      deadline,
    )
  } catch (error) {
    if (error instanceof ArchiveSilent && error.message.includes(NO_TABLE)) return undefined
    throw error
  }
}

function amongTexts(values: readonly string[]): string {
  return values.map(quote).join(', ')
}

function boundsOf(spans: readonly SpanRow[]): [first: bigint, last: bigint] {
  const ends = spans.map(({ end }) => end)
  return [least(ends), -least(ends.map((end) => -end))]
}

interface Rows {
  readonly traces: readonly TraceRow[]
  readonly spans: readonly SpanRow[]
  readonly references: readonly ReferenceRow[]
  /** The CPIDs of the cascade. */
  readonly cpids: readonly Cpid[]
  readonly known: KnownCpids
  readonly own: readonly OwnSpanRow[] | undefined
}

/** A cascade read from the archive, with the queries that the database offers for its own cascades. */
class ArchivedCascade implements CascadeRead {
  readonly facts: CascadeFacts
  /** What the archive lacks of the cascade. */
  readonly partial: string
  readonly #traces: readonly TraceFacts[]
  readonly #spans: ReadonlyMap<number, readonly LinkedSpan[]>
  readonly #byDecision: ReadonlyMap<number, LinkedSpan>
  readonly #mergelogs: readonly MergelogFacts[]
  readonly #missing: readonly Cpid[]

  constructor(root: Cpid, { traces, spans, references, cpids, known, own }: Rows) {
    this.#traces = tracesOf(traces)
    const linked = linkedSpansOf(spans.slice(0, MOST_SPANS), own ?? [], references)
    this.#spans = new Map(
      this.#traces.map(({ id, traceId }) => [id, linked.get(traceId.toString('hex')) ?? []]),
    )
    this.#byDecision = new Map([...linked.values()].flat().map((span) => [span.decision, span]))
    this.#mergelogs = mergelogsAmong(cpids, known)
    this.#missing = cpids.filter((cpid) => known.sourcesOf(cpid) === undefined)
    const causeways = new Set(traces.map(({ causeway }) => causeway))
    const received = [...this.#spans.values()]
      .flat()
      .filter(({ row, activity }) => row !== undefined && activity)
    // Several Causeways may have counted the same spans, so their counts are not added up.
    const counted = {
      ...(spans.length <= MOST_SPANS && {
        spans: received.length,
        failed: received.filter(({ status }) => status === STATUS_ERROR).length,
        gaps: received.filter(({ seen }) => seen?.gap === true).length,
      }),
      missing: this.#missing.length,
      merges: this.#mergelogs.filter(({ sources }) => sources.length > 0).length,
    }
    this.facts = { ...factsOf(root, traces, this.#traces), ...(causeways.size > 1 && counted) }
    const lacking = [
      ...(own === undefined ? ['the spans that Causeway adds'] : []),
      'which fields writes changed and what owns the objects',
      ...(spans.length > MOST_SPANS ? [`all spans but the first ${MOST_SPANS}`] : []),
    ]
    this.partial = `this is what ${[...causeways].join(' and ')} archived; not in this answer: ${lacking.join(', ')}`
  }

  tracesOf(): readonly TraceFacts[] {
    return this.#traces
  }

  linkedSpans(trace: number): readonly LinkedSpan[] {
    return this.#spans.get(trace) ?? []
  }

  linkedSpansOf(decisions: readonly number[]): readonly LinkedSpan[] {
    return decisions.flatMap((decision) => this.#byDecision.get(decision) ?? [])
  }

  missingIn(_root: Cpid, limit: number): readonly Cpid[] {
    return this.#missing.slice(0, limit)
  }

  mergelogsIn(_root: Cpid, limit: number): readonly MergelogFacts[] {
    return this.#mergelogs.slice(0, limit)
  }
}

/** Parts of a trace from several Causeways become one trace. */
function tracesOf(rows: readonly TraceRow[]): TraceFacts[] {
  const numbers = new Map<string, number>()
  for (const { trace } of rows) if (!numbers.has(trace)) numbers.set(trace, numbers.size + 1)
  return [...numbers].map(([trace, id]) => {
    const parts = rows.filter((row) => row.trace === trace)
    const [first] = parts as [TraceRow]
    return {
      ...{ id, traceId: Buffer.from(trace, 'hex'), episode: first.episode, lastDecision: 0 },
      cascade: numbers.get(first.continues) ?? id,
      spans: sum(parts, 'spans'),
      open: parts.some(({ open }) => open),
      startNs: least(parts.map(({ first }) => first)),
      lastNs: -least(parts.map(({ last }) => -last)),
    }
  })
}

function factsOf(root: Cpid, rows: readonly TraceRow[], traces: readonly TraceFacts[]): CascadeFacts {
  const believed = rows.filter(({ doubtful }) => !doubtful)
  const timed = believed.length > 0 ? believed : rows
  const newest = rows.toReversed()
  const newestOf = (of: 'reference' | 'service' | 'cluster' | 'reason'): string | undefined =>
    newest.find((row) => row[of] !== undefined)?.[of]
  return {
    ...{ root, position: [], traceId: traces[0]?.traceId ?? Buffer.alloc(16) },
    open: traces.some(({ open }) => open),
    startNs: least(timed.map(({ first }) => first)),
    lastNs: -least(timed.map(({ last }) => -last)),
    traces: traces.length,
    spans: sum(rows, 'spans'),
    failed: sum(rows, 'failed'),
    services: new Set(rows.flatMap(({ services }) => services)).size,
    merges: sum(rows, 'merges'),
    missing: sum(rows, 'missing'),
    truncated: rows.some(({ truncated }) => truncated),
    clockSkew: rows.some(({ skew }) => skew),
    object: newestOf('reference'),
    service: newestOf('service'),
    actor: rows.find(({ began }) => began !== undefined)?.began,
    gaps: sum(rows, 'gaps'),
    missedVersions: sum(rows, 'missed'),
    cluster: newestOf('cluster'),
    reason: newestOf('reason'),
    supersededBy: undefined,
  }
}

function sum(
  rows: readonly TraceRow[],
  of: 'spans' | 'failed' | 'merges' | 'missing' | 'gaps' | 'missed',
): number {
  return rows.reduce((total, row) => total + row[of], 0)
}

function least(values: readonly bigint[]): bigint {
  return values.reduce((one, other) => (other < one ? other : one), values[0] ?? 0n)
}

/** The spans of each trace id. Numbers are assigned in place of the database's row ids; copies of a span share one. */
function linkedSpansOf(
  spans: readonly SpanRow[],
  own: readonly OwnSpanRow[],
  references: readonly ReferenceRow[],
): Map<string, LinkedSpan[]> {
  const named = Map.groupBy(references, ({ span, digest }) => `${span} ${digest}`)
  const rows = new Map<string, number>()
  const byTrace = new Map<string, LinkedSpan[]>()
  let decision = 0
  const add = (trace: string, span: LinkedSpan): void => {
    const known = byTrace.get(trace)
    if (known === undefined) byTrace.set(trace, [span])
    else known.push(span)
  }
  for (const one of own) add(one.trace, ownSpan(one, ++decision))
  for (const span of spans) {
    const key = `${span.span} ${span.digest}`
    const row = rows.get(key) ?? rows.size + 1
    rows.set(key, row)
    add(span.trace, receivedSpan(span, ++decision, row, named.get(key) ?? []))
  }
  return byTrace
}

function receivedSpan(
  span: SpanRow,
  decision: number,
  row: number,
  named: readonly ReferenceRow[],
): LinkedSpan {
  const { actor, gap, waited, start: startNs } = span
  const cause = WRITE_CAUSES.find((one) => one === span.cause)
  const waitedNs = BigInt(Math.round((waited ?? 0) * 1e6))
  return {
    ...{ decision, row, startNs, name: span.name, service: span.service },
    ...{ spanId: span.span, parentId: span.parent, endNs: span.end },
    ...(span.cluster !== undefined && { cluster: span.cluster }),
    cpid: span.cpid,
    kind: Math.max(0, SPAN_KINDS.indexOf(span.kind)),
    status: Math.max(0, SPAN_STATUSES.indexOf(span.status)),
    copy: span.copy === 'yes',
    activity: span.activity === 'yes',
    byCause: waited !== undefined,
    ...(waited !== undefined && { above: { trace: 0, endNs: startNs - waitedNs } }),
    observed: named.filter(({ wrote }) => !wrote).map(({ ref }) => ref),
    wrote: named.filter(({ wrote }) => wrote).map(({ ref }) => ref),
    ...(cause !== undefined && { seen: { user: actor, cause, gap: gap === 'yes' } }),
  }
}

function ownSpan(span: OwnSpanRow, decision: number): LinkedSpan {
  // A span without a duration was sent with one of 1 ns.
  const { start: startNs, duration: lasted } = span
  return {
    ...{ decision, startNs, name: span.name, service: span.service, status: 0, row: undefined },
    endNs: lasted === 1n ? startNs : startNs + lasted,
    ...{ spanId: span.span, parentId: span.parent },
    kind: Math.max(0, SPAN_KINDS.indexOf(span.kind.toLowerCase())),
    cpid: parseCpid(span.cpid),
    ...{ copy: false, activity: true, byCause: false, observed: [], wrote: [] },
    ...(span.time !== '' && { time: span.time }),
  }
}

function mergelogsAmong(cpids: readonly Cpid[], known: KnownCpids): MergelogFacts[] {
  const found = cpids.flatMap((cpid): MergelogFacts[] => {
    const [facts, sources] = [known.of(cpid), known.sourcesOf(cpid)]
    if (facts.timeNs === undefined || sources === undefined) return []
    return [{ ...facts, timeNs: facts.timeNs, sources, position: [] }]
  })
  return found.sort((a, b) => known.inOrder(a.cpid, b.cpid))
}
