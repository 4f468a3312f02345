import type {
  ArrivalStore,
  IngestCounts,
  LogRecord,
  MergelogRecord,
  ReportingSpanIds,
  RequestAnswer,
  ResourceGroup,
  ServiceInCluster,
  SpanRecord,
} from '../model/arrivals.ts'
import { CPID_ID } from '../model/attributes.ts'
import { type MergeGraph, type MergelogRefusal, parseCpid } from '../model/merge-graph.ts'
import { nameOfSender, type Sender, type SenderPolicy } from '../model/otlp-requests.ts'
import type { ReadRequest } from '../model/otlp/decode-requests.ts'
import { withoutFilters } from '../model/otlp/request-envelopes.ts'
import { nanosOfMs } from '../model/time-and-size.ts'
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
  SenderVerdicts,
} from './sender-permissions.ts'

const WORK_AT_ONCE = 100
/** So many reasons for refusals are told in an answer. */
const MAX_REASONS = 10
/** So many refused mergelogs of a request are kept for auditors: as many as are kept of all requests. The rest is counted alone. */
const MOST_KEPT_REFUSALS = 10_000

export interface RecordSettings {
  maxSources: number
  maxFanout: number
  /** How many edges may be looked at for cycles in one request that has few mergelogs; 5,000 unless given. */
  maxCycleEdges?: number
  /** Spans of API servers' filters are kept; they are dropped unless given. */
  keepsFilters?: boolean
  /** Without one everybody may send everything. */
  senders?: SenderPolicy
}

/** What all requests are recorded with. */
interface RecorderParts {
  readonly store: ArrivalStore
  readonly graph: MergeGraph
  readonly settings: RecordSettings
  readonly verdicts: SenderVerdicts
}

/** Writes requests into the store and the merge graph, inside the caller's transactions. */
export class RequestRecorder {
  readonly #parts: RecorderParts
  readonly #rules: SenderRules | undefined

  constructor(store: ArrivalStore, graph: MergeGraph, settings: RecordSettings) {
    this.#parts = { store, graph, settings, verdicts: new SenderVerdicts(store, graph) }
    this.#rules = settings.senders && new SenderRules(settings.senders)
  }

  /**
   * Begins to record a request, `sender` being there where the receiver knows who sent it. It may be recorded in parts, each in
   * a transaction of its own; its answer is there, and its repetition known, with the last of them.
   */
  begin(request: ReadRequest, sender?: Sender): Recording {
    return new Recording(this.#parts, request, sender && nameOfSender(sender), this.#rules?.of(sender))
  }
}

/** A request that is being recorded. */
export class Recording {
  readonly #store: ArrivalStore
  readonly #graph: MergeGraph
  readonly #settings: RecordSettings
  readonly #verdicts: SenderVerdicts
  readonly #request: ReadRequest
  readonly #sender: string | undefined
  /** What its sender may send; undefined for everything. */
  readonly #allowed: ItemOrigin['allowed']
  /** By what its repetition is known. */
  readonly #hash: Buffer
  readonly #steps = this.#record()
  #counts = noCounts()
  /** Nothing was recorded yet since it last went on. */
  #isResumed = true
  /** The CPID that the span or log before carried: often the next one carries it too. */
  #before: { text: string; id: number } | undefined
  readonly #budget: CycleBudget
  /** Items recorded since somebody could say that it is enough, and sources that they named. */
  #work = 0
  /** How many of its mergelogs were refused so far. */
  #refusedMergelogs = 0
  /** How many mergelogs of the span that comes next are recorded. */
  #mergelogsOfSpan = 0
  #rejected: number
  /** Why, each reason once, and what was taken in with a doubt. */
  readonly #reasons: Set<string>

  constructor(
    { store, graph, settings, verdicts }: RecorderParts,
    request: ReadRequest,
    sender: string | undefined,
    allowed: ItemOrigin['allowed'],
  ) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
    this.#verdicts = verdicts
    this.#request = request
    this.#sender = sender
    this.#allowed = allowed
    this.#hash = allowed?.hashOf(request.hash) ?? request.hash
    this.#budget = cycleBudget(settings.maxCycleEdges)
    const decoded = request.traces ?? request.logs
    this.#rejected = decoded?.rejected ?? 0
    this.#reasons = new Set(decoded?.reasons.map((reason) => `${reason} is refused`))
  }

  /**
   * Goes on, inside the caller's transaction, until all is recorded or `mayGoOn`, asked every hundred items or so, says no;
   * returns the answer once all is. After a transaction that was rolled back the request has to be begun anew.
   */
  goOn(counts: IngestCounts, mayGoOn: () => boolean): RequestAnswer | undefined {
    this.#counts = counts
    this.#isResumed = true
    // Asked with each part: what its sender tried again meanwhile may be there whole.
    const before = this.#store.answerTo(this.#hash)
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
    const { logs } = this.#request
    yield* this.#each(this.#spans(), (span, from) => this.#span(span, from))
    yield* this.#each(logs?.resources ?? [], (log, from) => this.#log(log, from))
    const answer = { rejected: this.#rejected, message: [...this.#reasons].join('; ') }
    this.#store.addRequest(this.#hash, answer)
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

  /** Records all of them, some at a time. `record` says whether an item is done with; one that is not is gone on with. */
  *#each<T>(
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
    // What was there before a pause may be gone.
    this.#before = undefined
    this.#isResumed = false
    const { service, cluster = '' } = resource
    const allowed = this.#allowed
    return {
      scope: this.#store.scope(resource, envelope),
      service,
      cluster,
      sender: this.#sender,
      allowed,
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

  /** False where it is to go on: its mergelogs are as many as whole requests may have. */
  #span(span: SpanRecord, from: ItemOrigin): boolean {
    for (;;) {
      const mergelog = span.mergelogs?.[this.#mergelogsOfSpan]
      if (mergelog === undefined) break
      if (this.#work >= WORK_AT_ONCE) return false
      const refusal = this.#mergelog(mergelog, span, from)
      if (refusal !== undefined) this.#warn(refusal)
      this.#mergelogsOfSpan++
      this.#work++
    }
    this.#mergelogsOfSpan = 0
    const doubt = from.allowed && (from.repeated ?? (span.repeatsCpid ? CPID_ID : undefined))
    if (doubt !== undefined || from.allowed?.may('spans', from.service, from.cluster) === false) {
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
    const cpid = this.#carried(span.cpid, from.allowed && from)
    this.#store.addSpan(span, from, cpid)
    this.#counts.spans++
    return true
  }

  #log(log: LogRecord, from: ItemOrigin): boolean {
    const { allowed, service, cluster } = from
    const doubt = allowed && (from.repeated ?? (log.repeatsCpid ? CPID_ID : undefined))
    const send = log.mergelog === undefined ? 'logs' : 'mergelogs'
    if (doubt !== undefined || allowed?.may(send, service, cluster) === false) {
      this.#reject(this.#forbidLog(log, from, doubt))
      return true
    }
    let cpid = this.#carried(log.cpid)
    if (log.mergelog !== undefined) {
      const refusal = this.#mergelog(log.mergelog, log, from)
      if (refusal !== undefined) {
        this.#reject(refusal)
        return true
      }
      const merged = parseCpid(log.mergelog.newCpid)
      if (cpid === undefined && merged !== undefined) cpid = this.#graph.sight(merged).id
    }
    this.#store.addLog(log, from.scope, cpid)
    this.#counts.logs++
    return true
  }

  /** Nothing of what its sender may not send is taken in, not even that it carries a CPID. */
  #forbidLog(log: LogRecord, from: ItemOrigin, doubt: string | undefined): string {
    const { mergelog } = log
    const refusal =
      mergelog && this.#mergelog(doubt === undefined ? mergelog : { ...mergelog, repeated: doubt }, log, from)
    if (refusal !== undefined) return refusal
    this.#counts.forbiddenLogs++
    return doubt === undefined
      ? notAllowedSentence('log records', from)
      : repeatedAttributeSentence('log records', doubt)
  }

  /** The number of the CPID a span or log carries; malformed ones are a warning. It belongs to whoever has it first. */
  #carried(text: string | null | undefined, claimant?: ServiceInCluster): number | undefined {
    if (text === undefined) return undefined
    if (this.#before !== undefined && this.#before.text === text) return this.#before.id
    const cpid = text === null ? undefined : parseCpid(text)
    if (cpid === undefined) {
      this.#counts.malformedCpids++
      this.#warn('cpid.id is not a UUID or is all zeros; kept without a CPID')
      return undefined
    }
    const node = this.#graph.sight(cpid)
    if (node.pruned) this.#graph.revive(node)
    if (claimant !== undefined && !node.hasMergelog && node.claim === undefined)
      this.#graph.claim(node, claimOf(claimant))
    if (text !== null) this.#before = { text, id: node.id }
    return node.id
  }

  /** Records a mergelog; a sentence when it is refused. */
  #mergelog(record: MergelogRecord, told: ReportingSpanIds, from: ItemOrigin): string | undefined {
    const counts = this.#counts
    const checked = checkMergelog(record, this.#settings.maxSources)
    this.#work += record.sources.length
    const mergelog =
      typeof checked === 'string' ? checked : (this.#verdicts.forbids(checked, record, from) ?? checked)
    const outcome =
      typeof mergelog === 'string'
        ? ({ kind: 'refused', refusal: mergelog } as const)
        : recordMergelog(this.#graph, mergelog, {
            maxFanout: this.#settings.maxFanout,
            budget: this.#budget,
            ...(from.allowed !== undefined && { isBetter: (node) => this.#verdicts.isBetter(node, from) }),
          })
    switch (outcome.kind) {
      case 'new':
        if (typeof mergelog !== 'string') {
          const { id } = this.#graph.sight(mergelog.cpid)
          if (outcome.replaced) {
            this.#store.contestMergelog(id, mergelog.cpid)
            counts.refusedMergelogs.contested = (counts.refusedMergelogs.contested ?? 0) + 1
          }
          const timeNs = record.timeNs === 0n ? nanosOfMs(this.#store.wallMs) : record.timeNs
          this.#store.addMergelog(id, outcome.arrival, mergelog, record, timeNs, from, told)
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

export function noCounts(): IngestCounts {
  return {
    spans: 0,
    logs: 0,
    mergelogs: 0,
    merges: 0,
    repeatedMergelogs: 0,
    refusedMergelogs: {},
    malformedCpids: 0,
    forbiddenSpans: 0,
    forbiddenLogs: 0,
    filterSpans: 0,
    repeatedRequests: 0,
  }
}

/** Adds counts to others. */
export function addCounts(to: IngestCounts, { refusedMergelogs, ...counts }: IngestCounts): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) to[name] += counts[name]
  for (const [reason, count] of Object.entries(refusedMergelogs)) {
    const known = reason as MergelogRefusal
    to.refusedMergelogs[known] = (to.refusedMergelogs[known] ?? 0) + count
  }
}
