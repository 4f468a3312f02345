import {
  type ArrivalStore,
  type IngestCounts,
  type LogRecord,
  type MergelogRecord,
  noCounts,
  type ReportingSpanIds,
  type RequestAnswer,
  type ResourceGroup,
  type ServiceInCluster,
  type SpanRecord,
} from '../model/arrivals.ts'
import { CPID_ID } from '../model/attributes.ts'
import { type CpidNode, type MergeGraph, type MergelogRefusal, parseCpid } from '../model/merge-graph.ts'
import { nameOfSender, type Sender, type SenderPolicy } from '../model/otlp-requests.ts'
import type { ReadRequest } from '../model/otlp/decode-requests.ts'
import { buildRequest } from '../model/otlp/outgoing-records.ts'
import { withoutFilters } from '../model/otlp/request-envelopes.ts'
import type { MetricStore } from '../model/pod-stats.ts'
import { nanosOfMs } from '../model/time-and-size.ts'
import type { Explanation, HeldItem, HeldItems } from '../model/reported-writes.ts'
import { recordMetrics } from './record-metrics.ts'
import {
  checkMergelog,
  type CycleBudget,
  cycleBudget,
  recordMergelog,
  refusalSentence,
} from './record-mergelog.ts'
import {
  claimOf,
  foreignChangeSentence,
  type ItemOrigin,
  notAllowedSentence,
  repeatedAttributeSentence,
  SenderRules,
  StoredOwnership,
} from './sender-permissions.ts'

const WORK_AT_ONCE = 100
/** The cost of a mergelog, relative to other items: it is placed in the rank order, and may explain descendants. */
const WORK_OF_MERGELOG = 20
/** An answer gives at most this many reasons for refusals. */
const MAX_REASONS = 10
/** At most this many refused mergelogs of a request become rows, as many as the table keeps. The others are only counted. */
const MOST_KEPT_REFUSALS = 10_000

export interface RecordSettings {
  maxSources: number
  maxFanout: number
  /** How many edges a request with few mergelogs may visit to look for cycles; 5,000 unless given. */
  maxCycleEdges?: number
  /** Keeps the spans of API servers' filters; they are dropped unless given. */
  keepsFilters?: boolean
  /** Who may send what; everybody may send everything unless given. */
  senders?: SenderPolicy
  /** Where metrics are kept. */
  metrics?: Pick<MetricStore, 'queue' | 'hold'>
  /** Writes for which programs began changes, not knowing the writers. */
  witnessed?: {
    /** Looks up the change that inference found for such a write. */
    explain(begun: BegunForAnother & { cluster: string }): Explanation
  } & Pick<HeldItems, 'hold'>
}

/** A change that a program began for another writer's version of an object. */
export interface BegunForAnother {
  readonly cpid: string
  readonly object: string
}

/** Shared by all recordings. */
interface RecorderParts {
  readonly store: ArrivalStore
  readonly graph: MergeGraph
  readonly settings: RecordSettings
  readonly verdicts: StoredOwnership
}

/** Writes requests into the store and the merge graph, inside the caller's transactions. */
export class RequestRecorder {
  readonly #parts: RecorderParts
  readonly #rules: SenderRules | undefined

  constructor(store: ArrivalStore, graph: MergeGraph, settings: RecordSettings) {
    this.#parts = { store, graph, settings, verdicts: new StoredOwnership(store, graph) }
    this.#rules = settings.senders && new SenderRules(settings.senders)
  }

  /**
   * Begins to record a request; `sender` is set where the receiver has identified it. The request may be recorded in parts, each
   * in its own transaction. The last part yields the answer, and from then on a repetition is recognised.
   */
  begin(request: ReadRequest, sender?: Sender): Recording {
    return new Recording(this.#parts, request, sender, this.#rules?.of(sender))
  }
}

export class Recording {
  readonly #store: ArrivalStore
  readonly #graph: MergeGraph
  readonly #settings: RecordSettings
  readonly #verdicts: StoredOwnership
  readonly #request: ReadRequest
  readonly #sender: Sender | undefined
  /** The permissions of its sender; undefined when everybody may send everything. */
  readonly #allowed: ItemOrigin['permissions']
  /** Recognises a repetition of the request. */
  readonly #hash: Buffer | undefined
  readonly #steps = this.#record()
  #counts = noCounts()
  /** Nothing was recorded yet since it was last resumed. */
  #isResumed = true
  /** The CPID of the previous record: often the next one has the same. */
  #before: { text: string; id: number } | undefined
  #budget: CycleBudget | undefined
  /** Of the resource and the scope whose items are being recorded. */
  #envelopes: { resource: Buffer; scope: Buffer } = NO_ENVELOPES
  /** Items recorded since `mayGoOn` was last asked; mergelogs and their sources count for more of them. */
  #work = 0
  #refusedMergelogs = 0
  /** How many mergelogs of the current span are recorded. */
  #mergelogsOfSpan = 0
  #rejected: number
  /** Reasons for refusals, and warnings, each once. */
  readonly #reasons: Set<string>

  constructor(
    { store, graph, settings, verdicts }: RecorderParts,
    request: ReadRequest,
    sender: Sender | undefined,
    allowed: ItemOrigin['permissions'],
  ) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
    this.#verdicts = verdicts
    this.#request = request
    this.#sender = sender
    this.#allowed = allowed
    this.#hash = (request.hash && allowed?.hashOf(request.hash)) ?? request.hash
    const decoded = request.traces ?? request.logs
    this.#rejected = decoded?.rejected ?? 0
    this.#reasons = new Set(decoded?.reasons.map((reason) => `${reason} is refused`))
  }

  /**
   * Records inside the caller's transaction until everything is recorded or `mayGoOn` returns false, which is asked about every
   * hundred items, or five mergelogs. Returns the answer once everything is recorded. After a rollback the request must be begun again.
   */
  resume(counts: IngestCounts, mayGoOn: () => boolean): RequestAnswer | undefined {
    this.#counts = counts
    this.#isResumed = true
    // Asked with each part: a retry of the same request may have been stored meanwhile.
    const before = this.#hash && this.#store.answerTo(this.#hash)
    if (before !== undefined) {
      counts.repeatedRequests++
      return before
    }
    for (;;) {
      const { done, value } = this.#steps.next()
      if (done === true) return value
      if (!mayGoOn()) return undefined
    }
  }

  *#record(): Generator<undefined, RequestAnswer> {
    const { logs, metrics } = this.#request
    if (metrics !== undefined)
      yield* recordMetrics(metrics, {
        ...{ store: this.#settings.metrics, permissions: this.#allowed },
        sender: this.#sender && nameOfSender(this.#sender),
        // Each part of a request is counted for itself.
        counts: () => this.#counts,
        reject: (points, reason) => {
          this.#rejected += points
          this.#warn(reason)
        },
      })
    yield* this.#recordEach(this.#spans(), (span, from) => this.#recordSpan(span, from))
    yield* this.#recordEach(logs?.resources ?? [], (log, from) => this.#recordLog(log, from))
    const answer = { rejected: this.#rejected, message: [...this.#reasons].join('; ') }
    if (this.#hash !== undefined) this.#store.addRequest(this.#hash, answer)
    return answer
  }

  #spans(): readonly ResourceGroup<SpanRecord>[] {
    const { traces } = this.#request
    if (traces === undefined) return []
    if (this.#settings.keepsFilters === true) return traces.resources
    const kept = withoutFilters(traces)
    this.#counts.filterSpans += kept.dropped
    return kept.traces.resources
  }

  /** Records all of them, some at a time. `record` returns false when an item is to be continued after the next pause. */
  *#recordEach<T>(
    resources: readonly ResourceGroup<T>[],
    record: (item: T, from: ItemOrigin) => boolean,
  ): Generator<undefined> {
    for (const resource of resources) {
      for (const { envelope, records } of resource.scopes) {
        if (records.length === 0) continue
        let from = this.#originOf(resource, envelope)
        for (let at = 0; at < records.length;) {
          if (this.#isResumed) from = this.#originOf(resource, envelope)
          this.#work = 0
          for (; this.#work < WORK_AT_ONCE; at++) {
            const item = records[at]
            if (item === undefined || !record(item, from)) break
            this.#work++
          }
          yield
        }
      }
    }
  }

  #originOf(resource: ResourceGroup<unknown>, envelope: Buffer): ItemOrigin {
    // Pruning may have removed it during a pause.
    this.#before = undefined
    this.#isResumed = false
    this.#envelopes = { resource: resource.envelope, scope: envelope }
    const { service, cluster = '' } = resource
    const allowed = this.#allowed
    return {
      scope: this.#store.scope(resource, envelope),
      service,
      cluster,
      sender: this.#sender && nameOfSender(this.#sender),
      permissions: allowed,
      repeated: allowed && resource.repeated,
      joinsOwn: allowed?.joinsAll === false,
    }
  }

  #reject(reason: string): void {
    this.#rejected++
    this.#warn(reason)
  }

  #warn(reason: string): void {
    if (this.#reasons.size < MAX_REASONS) this.#reasons.add(reason)
  }

  /** False when it is to be continued: it has very many mergelogs. */
  #recordSpan(span: SpanRecord, from: ItemOrigin): boolean {
    const begun = begunBy(span)
    if (begun.length > 0 && this.#mergelogsOfSpan === 0 && this.#isHeld('traces', span.raw, begun, from)) {
      this.#counts.spans++
      return true
    }
    for (;;) {
      const mergelog = span.mergelogs?.[this.#mergelogsOfSpan]
      if (mergelog === undefined) break
      if (this.#work >= WORK_AT_ONCE) return false
      const refusal = this.#recordMergelog(mergelog, span, from)
      if (refusal !== undefined) this.#warn(refusal)
      this.#mergelogsOfSpan++
    }
    this.#mergelogsOfSpan = 0
    const doubt = from.permissions && (from.repeated ?? (span.repeatsCpid ? CPID_ID : undefined))
    if (doubt !== undefined || from.permissions?.may('spans', from.service, from.cluster) === false) {
      this.#counts.forbiddenSpans++
      this.#reject(
        doubt === undefined ? notAllowedSentence('spans', from) : repeatedAttributeSentence('spans', doubt),
      )
      return true
    }
    if (from.joinsOwn === true && this.#verdicts.isForeign(span.cpid, from)) {
      this.#counts.forbiddenSpans++
      this.#reject(foreignChangeSentence(from))
      return true
    }
    const cpid = this.#cpidNumberOf(span.cpid, from.permissions && from)
    if (this.#isSeenOtherwise(span, from)) return true
    this.#store.addSpan(span, from, cpid)
    this.#counts.spans++
    return true
  }

  /** True for a span without duration by which a program reports somebody else's write, when a receiver observed that write too. */
  #isSeenOtherwise(span: SpanRecord, { cluster }: ItemOrigin): boolean {
    const witnessed = witnessedBy(span)
    const known = witnessed && this.#settings.witnessed?.explain({ ...witnessed, cluster })
    return known !== undefined && known !== 'none' && known !== 'later'
  }

  /** Gives a change that a program began for an unknown writer the observed change as its source. */
  #explained(record: MergelogRecord, { cluster }: ItemOrigin): MergelogRecord {
    const begun = begunWith(record)
    const known = begun && this.#settings.witnessed?.explain({ ...begun, cluster })
    if (known === undefined || known === 'none' || known === 'later' || known === record.newCpid)
      return record
    return { ...record, sources: [known] }
  }

  /** Whether an item waits until inference has decided about the write that it reports for another writer. */
  #isHeld(
    signal: HeldItem['signal'],
    raw: Buffer,
    begun: readonly BegunForAnother[],
    { cluster, permissions: allowed, service, repeated }: ItemOrigin,
  ): boolean {
    const { witnessed } = this.#settings
    if (witnessed === undefined) return false
    const awaited = begun.find((one) => witnessed.explain({ ...one, cluster }) === 'later')
    const cpid = awaited && parseCpid(awaited.cpid)
    if (cpid === undefined) return false
    const maySend = (what: 'spans' | 'mergelogs'): boolean => allowed?.may(what, service, cluster) !== false
    if (repeated !== undefined || !maySend('mergelogs') || (signal === 'traces' && !maySend('spans')))
      return false
    const envelopes = { resourceId: 0, ...this.#envelopes }
    const request = buildRequest([{ scope: 0, bytes: raw }], { envelopes: () => envelopes })
    const sender = this.#sender && JSON.stringify(this.#sender)
    if (!witnessed.hold(cpid, { signal, request, sender })) return false
    this.#cpidNumberOf(cpid)
    return true
  }

  #recordLog(log: LogRecord, from: ItemOrigin): boolean {
    const { permissions: allowed, service, cluster } = from
    const doubt = allowed && (from.repeated ?? (log.repeatsCpid ? CPID_ID : undefined))
    const send = log.mergelog === undefined ? 'logs' : 'mergelogs'
    if (doubt !== undefined || allowed?.may(send, service, cluster) === false) {
      this.#reject(this.#forbidLog(log, from, doubt))
      return true
    }
    if (
      log.mergelog !== undefined &&
      this.#isHeld('logs', log.raw, begunBy({ mergelogs: [log.mergelog] }), from)
    ) {
      this.#counts.logs++
      return true
    }
    let cpid = this.#cpidNumberOf(log.cpid)
    if (log.mergelog !== undefined) {
      const refusal = this.#recordMergelog(log.mergelog, log, from)
      if (refusal !== undefined) {
        this.#reject(refusal)
        return true
      }
      const merged = parseCpid(log.mergelog.newCpid)
      if (cpid === undefined && merged !== undefined) cpid = this.#graph.findOrAdd(merged).id
    }
    this.#store.addLog(log, from.scope, cpid)
    this.#counts.logs++
    return true
  }

  /** Refuses a log record that its sender may not send; nothing of it is stored, not even its CPID. */
  #forbidLog(log: LogRecord, from: ItemOrigin, doubt: string | undefined): string {
    const { mergelog } = log
    const refusal =
      mergelog &&
      this.#recordMergelog(doubt === undefined ? mergelog : { ...mergelog, repeated: doubt }, log, from)
    if (refusal !== undefined) return refusal
    this.#counts.forbiddenLogs++
    return doubt === undefined
      ? notAllowedSentence('log records', from)
      : repeatedAttributeSentence('log records', doubt)
  }

  /** The number of the CPID that a record carries; a malformed one is a warning. The first claimant owns the CPID. */
  #cpidNumberOf(text: string | null | undefined, claimant?: ServiceInCluster): number | undefined {
    if (text === undefined) return undefined
    if (this.#before !== undefined && this.#before.text === text) return this.#before.id
    const cpid = text === null ? undefined : parseCpid(text)
    if (cpid === undefined) {
      this.#counts.malformedCpids++
      this.#warn('cpid.id is not a UUID or is all zeros; kept without a CPID')
      return undefined
    }
    const node = this.#graph.findOrAdd(cpid)
    if (node.pruned) this.#graph.revive(node)
    if (claimant !== undefined && !node.hasMergelog && node.claim === undefined)
      this.#graph.claim(node, claimOf(claimant))
    if (text !== null) this.#before = { text, id: node.id }
    return node.id
  }

  /** Records a mergelog; returns a sentence when it is refused. */
  #recordMergelog(
    sent: MergelogRecord,
    reportingSpan: ReportingSpanIds,
    from: ItemOrigin,
  ): string | undefined {
    const counts = this.#counts
    const record = this.#explained(sent, from)
    const checked = checkMergelog(record, this.#settings.maxSources)
    this.#work += WORK_OF_MERGELOG + record.sources.length
    const mergelog =
      typeof checked === 'string' ? checked : (this.#verdicts.forbids(checked, record, from) ?? checked)
    const isRestricted = from.permissions !== undefined
    const givesWay = (node: CpidNode): boolean => !isRestricted || !this.#verdicts.isOfOthers(node, from)
    const outcome =
      typeof mergelog === 'string'
        ? ({ kind: 'refused', refusal: mergelog } as const)
        : recordMergelog(this.#graph, mergelog, {
            maxFanout: this.#settings.maxFanout,
            budget: (this.#budget ??= cycleBudget(this.#settings.maxCycleEdges)),
            hasBetterClaim: (node) => {
              if (this.#store.isWorkedOut(node.id)) return givesWay(node)
              return isRestricted && this.#verdicts.hasBetterClaim(node, from)
            },
            workedOut: {
              isWorkedOut: (node) => this.#store.isWorkedOut(node.id) && givesWay(node),
              narrow: (node, arrival, sources) => this.#store.narrowWorkedOut(node.id, arrival, sources),
            },
          })
    switch (outcome.kind) {
      case 'new':
        if (typeof mergelog !== 'string') {
          const { id } = this.#graph.findOrAdd(mergelog.cpid)
          if (outcome.replaced && this.#store.contestMergelog(id, mergelog.cpid)) {
            counts.refusedMergelogs.contested = (counts.refusedMergelogs.contested ?? 0) + 1
          }
          const timeNs = record.timeNs === 0n ? nanosOfMs(this.#store.wallMs) : record.timeNs
          const { arrival, replaced: replaces } = outcome
          this.#store.addMergelog(id, arrival, mergelog, record, timeNs, from, { reportingSpan, replaces })
          if (mergelog.sources.length > 0) counts.merges++
        }
        counts.mergelogs++
        return undefined
      case 'repeated':
        counts.repeatedMergelogs++
        return undefined
      case 'refused': {
        counts.refusedMergelogs[outcome.refusal] = (counts.refusedMergelogs[outcome.refusal] ?? 0) + 1
        if (this.#refusedMergelogs++ < MOST_KEPT_REFUSALS)
          this.#store.addRejectedMergelog(record, outcome.refusal, from)
        return refusalSentence(outcome.refusal, record.newCpid, this.#settings.maxSources)
      }
    }
  }
}

const NOTHING_BEGUN: readonly BegunForAnother[] = []
const NO_ENVELOPES = { resource: Buffer.alloc(0), scope: Buffer.alloc(0) }

/** The changes that a span or its mergelogs began for writes of others. */
function begunBy(span: Pick<SpanRecord, 'mergelogs'> & Partial<SpanRecord>): readonly BegunForAnother[] {
  const witnessed = witnessedBy(span)
  if (witnessed === undefined && span.mergelogs === undefined) return NOTHING_BEGUN
  return [...(witnessed ? [witnessed] : []), ...(span.mergelogs ?? []).flatMap((one) => begunWith(one) ?? [])]
}

function begunWith({ newCpid: cpid, sources, object }: MergelogRecord): BegunForAnother | undefined {
  return sources.length > 0 || object === undefined ? undefined : { cpid, object }
}

/** The write of another that a span without duration reports. */
function witnessedBy({
  startNs,
  endNs,
  parentId,
  cpid,
  wrote,
}: Partial<SpanRecord>): BegunForAnother | undefined {
  if (startNs !== endNs || parentId !== 0n || typeof cpid !== 'string' || wrote?.length !== 1)
    return undefined
  const [object] = wrote
  return object === undefined ? undefined : { cpid, object }
}

export function addCounts(to: IngestCounts, { refusedMergelogs, ...counts }: IngestCounts): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) to[name] += counts[name]
  for (const [reason, count] of Object.entries(refusedMergelogs)) {
    const known = reason as MergelogRefusal
    to.refusedMergelogs[known] = (to.refusedMergelogs[known] ?? 0) + count
  }
}
