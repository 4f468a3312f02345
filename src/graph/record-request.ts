import type {
  ArrivalStore,
  Decoded,
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
import { checkMergelog, cycleBudget, recordMergelog, refusalSentence } from './record-mergelog.ts'
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

interface Turn {
  counts: IngestCounts
  /** Nothing was recorded in it yet. */
  isNew: boolean
  /** How many mergelogs of the request were refused so far. */
  refusedMergelogs: number
  /** How many mergelogs of the span that comes next are recorded. */
  mergelogsOfSpan: number
}

/** By whom a request was sent, what they may send, and by what its repetition is known. */
interface Sent {
  readonly sender: Sender | undefined
  readonly allowed: ReturnType<SenderRules['of']> | undefined
  readonly hash: Buffer
}

/** Writes one request into the store and the merge graph, inside the caller's transaction. */
export class RequestRecorder {
  readonly #store: ArrivalStore
  readonly #graph: MergeGraph
  readonly #settings: RecordSettings
  readonly #rules: SenderRules | undefined
  readonly #verdicts: SenderVerdicts
  /** The CPID that the span or log before carried, in the same request: often the next one carries it too. */
  #before: { text: string; id: number } | undefined
  /** Of the request that is being recorded. */
  #budget = cycleBudget()
  /** Items recorded since somebody could say that it is enough, and sources that they named. */
  #work = 0

  constructor(store: ArrivalStore, graph: MergeGraph, settings: RecordSettings) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
    this.#rules = settings.senders && new SenderRules(settings.senders)
    this.#verdicts = new SenderVerdicts(store, graph)
  }

  /**
   * Begins to record a request, `sender` being there where the receiver knows who sent it. It may be recorded in parts, each in
   * a transaction of its own; its answer is there, and its repetition known, with the last of them.
   */
  begin(request: ReadRequest, sender?: Sender): Recording {
    const turn: Turn = { counts: noCounts(), isNew: true, refusedMergelogs: 0, mergelogsOfSpan: 0 }
    const allowed = this.#rules?.of(sender)
    const hash = allowed?.hashOf(request.hash) ?? request.hash
    const steps = this.#steps(request, { sender, allowed, hash }, turn)
    return {
      goOn: (counts, mayGoOn) => {
        turn.counts = counts
        turn.isNew = true
        // Asked with each part: what its sender tried again meanwhile may be there whole.
        const before = this.#store.answerTo(hash)
        if (before !== undefined) {
          counts.repeatedRequests++
          return before
        }
        for (;;) {
          const { done, value } = steps.next()
          if (done === true) return value
          if (!mayGoOn()) return undefined
        }
      },
    }
  }

  *#steps(
    request: ReadRequest,
    { sender, allowed, hash }: Sent,
    turn: Turn,
  ): Generator<undefined, RequestAnswer> {
    const budget = cycleBudget(this.#settings.maxCycleEdges)
    const name = sender && nameOfSender(sender)
    const answer = new AnswerBuilder(request.traces ?? request.logs)
    const from = (resource: ResourceGroup<unknown>, envelope: Buffer): ItemOrigin => {
      // What was there before a pause may be gone.
      this.#before = undefined
      this.#budget = budget
      turn.isNew = false
      const { service, cluster = '' } = resource
      const repeated = allowed && resource.repeated
      return {
        scope: this.#store.scope(resource, envelope),
        service,
        cluster,
        sender: name,
        allowed,
        repeated,
        joinsOwn: allowed?.joinsAll === false,
      }
    }
    const spans = this.#spansOf(request, turn)
    yield* this.#each(spans, turn, from, (span, sent) => this.#span(span, sent, turn, answer))
    const logs = request.logs?.resources ?? []
    yield* this.#each(logs, turn, from, (log, sent) => this.#log(log, sent, turn, answer))
    const built = answer.build()
    this.#store.addRequest(hash, built)
    return built
  }

  #spansOf({ traces }: ReadRequest, { counts }: Turn): readonly ResourceGroup<SpanRecord>[] {
    if (traces === undefined) return []
    if (this.#settings.keepsFilters === true) return traces.resources
    const kept = withoutFilters(traces)
    counts.filterSpans += kept.dropped
    return kept.traces.resources
  }

  *#each<T>(
    resources: readonly ResourceGroup<T>[],
    turn: Turn,
    from: (resource: ResourceGroup<T>, envelope: Buffer) => ItemOrigin,
    record: (item: T, sent: ItemOrigin) => boolean,
  ): Generator<undefined> {
    for (const resource of resources) {
      for (const { envelope, records } of resource.scopes) {
        if (records.length === 0) continue
        let sent = from(resource, envelope)
        for (let at = 0; at < records.length;) {
          if (turn.isNew) sent = from(resource, envelope)
          at = this.#some(records, at, (item) => record(item, sent))
          yield
        }
      }
    }
  }

  /** Records some of them, those from `at` on; returns where to go on. `record` says whether an item is done with. */
  #some<T>(records: readonly T[], at: number, record: (item: T) => boolean): number {
    this.#work = 0
    let next = at
    for (; this.#work < WORK_AT_ONCE; next++) {
      const item = records[next]
      if (item === undefined || !record(item)) break
      this.#work++
    }
    return next
  }

  /** False where it is to go on: its mergelogs are as many as whole requests may have. */
  #span(span: SpanRecord, from: ItemOrigin, turn: Turn, answer: AnswerBuilder): boolean {
    const { counts } = turn
    for (;;) {
      const mergelog = span.mergelogs?.[turn.mergelogsOfSpan]
      if (mergelog === undefined) break
      if (this.#work >= WORK_AT_ONCE) return false
      const refusal = this.#mergelog(mergelog, span, from, turn)
      if (refusal !== undefined) answer.warn(refusal)
      turn.mergelogsOfSpan++
      this.#work++
    }
    turn.mergelogsOfSpan = 0
    const doubt = from.allowed && (from.repeated ?? (span.repeatsCpid ? CPID_ID : undefined))
    if (doubt !== undefined || from.allowed?.may('spans', from.service, from.cluster) === false) {
      counts.forbiddenSpans++
      answer.reject(
        doubt === undefined ? notAllowedSentence('spans', from) : repeatedAttributeSentence('spans', doubt),
      )
      return true
    }
    if (from.joinsOwn === true && this.#verdicts.isForeign(span.cpid, from)) {
      counts.forbiddenSpans++
      answer.reject(foreignChangeSentence(from))
      return true
    }
    const cpid = this.#carried(span.cpid, counts, answer, from.allowed && from)
    this.#store.addSpan(span, from, cpid)
    counts.spans++
    return true
  }

  #log(log: LogRecord, from: ItemOrigin, turn: Turn, answer: AnswerBuilder): boolean {
    const { counts } = turn
    const { allowed, service, cluster } = from
    const doubt = allowed && (from.repeated ?? (log.repeatsCpid ? CPID_ID : undefined))
    const send = log.mergelog === undefined ? 'logs' : 'mergelogs'
    if (doubt !== undefined || allowed?.may(send, service, cluster) === false) {
      answer.reject(this.#forbidLog(log, from, turn, doubt))
      return true
    }
    let cpid = this.#carried(log.cpid, counts, answer)
    if (log.mergelog !== undefined) {
      const refusal = this.#mergelog(log.mergelog, log, from, turn)
      if (refusal !== undefined) {
        answer.reject(refusal)
        return true
      }
      const merged = parseCpid(log.mergelog.newCpid)
      if (cpid === undefined && merged !== undefined) cpid = this.#graph.sight(merged).id
    }
    this.#store.addLog(log, from.scope, cpid)
    counts.logs++
    return true
  }

  /** Nothing of what its sender may not send is taken in, not even that it carries a CPID. */
  #forbidLog(log: LogRecord, from: ItemOrigin, turn: Turn, doubt: string | undefined): string {
    const { mergelog } = log
    const refusal =
      mergelog &&
      this.#mergelog(doubt === undefined ? mergelog : { ...mergelog, repeated: doubt }, log, from, turn)
    if (refusal !== undefined) return refusal
    turn.counts.forbiddenLogs++
    return doubt === undefined
      ? notAllowedSentence('log records', from)
      : repeatedAttributeSentence('log records', doubt)
  }

  /** The number of the CPID a span or log carries; malformed ones are a warning. It belongs to whoever has it first. */
  #carried(
    text: string | null | undefined,
    counts: IngestCounts,
    answer: AnswerBuilder,
    claimant?: ServiceInCluster,
  ): number | undefined {
    if (text === undefined) return undefined
    if (this.#before !== undefined && this.#before.text === text) return this.#before.id
    const cpid = text === null ? undefined : parseCpid(text)
    if (cpid === undefined) {
      counts.malformedCpids++
      answer.warn('cpid.id is not a UUID or is all zeros; kept without a CPID')
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
  #mergelog(
    record: MergelogRecord,
    told: ReportingSpanIds,
    from: ItemOrigin,
    turn: Turn,
  ): string | undefined {
    const { counts } = turn
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
        if (turn.refusedMergelogs++ < MOST_KEPT_REFUSALS)
          this.#store.addRejectedMergelog(record, outcome.refusal, from)
        return refusalSentence(outcome.refusal, record.newCpid, this.#settings.maxSources)
      }
    }
  }
}

/** A request that is being recorded. */
export interface Recording {
  /**
   * Goes on, inside the caller's transaction, until all is recorded or `mayGoOn`, asked every hundred items or so, says no;
   * returns the answer once all is. After a transaction that was rolled back the request has to be begun anew.
   */
  goOn(counts: IngestCounts, mayGoOn: () => boolean): RequestAnswer | undefined
}

const MAX_REASONS = 10

/** Gathers what a request is answered: how many items were refused, and each reason once. */
class AnswerBuilder {
  #rejected: number
  readonly #reasons: Set<string>

  constructor(decoded: Decoded<unknown> | undefined) {
    this.#rejected = decoded?.rejected ?? 0
    this.#reasons = new Set(decoded?.reasons.map((reason) => `${reason} is refused`))
  }

  reject(reason: string): void {
    this.#rejected++
    this.warn(reason)
  }

  warn(reason: string): void {
    if (this.#reasons.size < MAX_REASONS) this.#reasons.add(reason)
  }

  build(): RequestAnswer {
    return { rejected: this.#rejected, message: [...this.#reasons].join('; ') }
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
