import { hash } from 'node:crypto'
import type { ArrivalStore, IngestCounts, Owner, RequestAnswer, SentFrom } from '../model/arrival-port.ts'
import type { Decoded, LogRecord, MergelogRecord, ResourceGroup, SpanRecord } from '../model/arrivals.ts'
import { nanosOfMs } from '../model/clock.ts'
import { CPID_ID } from '../model/attributes.ts'
import { parseCpid } from '../model/cpid.ts'
import type { CpidNode, Mergelog, MergeGraph, MergelogRefusal } from '../model/graph-port.ts'
import type { Signal } from '../model/ingest.ts'
import { decodeLogs } from '../otlp/decode-logs.ts'
import { decodeTraces } from '../otlp/decode-traces.ts'
import { nameOfSender, type Sender } from '../model/sender.ts'
import type { SenderPolicy } from '../model/sender-policy.ts'
import { cycleBudget } from './merge-order.ts'
import { claimOf, rightTo } from './claims.ts'
import { checkMergelog, refusalSentence } from './check-mergelog.ts'
import { recordMergelog } from './record-mergelog.ts'
import { SenderRules, type Allowed } from './sender-rules.ts'

const MAX_REASONS = 10
const MAX_NAME = 64

export interface RecordSettings {
  maxSources: number
  maxFanout: number
  /** How many edges may be looked at for cycles in one request that has few mergelogs; 5,000 unless given. */
  maxCycleEdges?: number
  /** Without one everybody may send everything. */
  senders?: SenderPolicy
}

/** A decoded request and the hash by which its repetition is known. */
export interface ReadRequest {
  hash: Buffer
  traces?: Decoded<SpanRecord>
  logs?: Decoded<LogRecord>
}

/** The hash by which the repetition of a request is known. */
export function hashOfRequest(signal: Signal, bytes: Uint8Array): Buffer {
  const digest = hash('sha256', bytes, 'buffer').subarray(0, 16)
  // The same bytes can be a valid request of either signal.
  if (signal === 'logs') digest[0] = (digest[0] ?? 0) ^ 0xff
  return digest
}

/** Decodes an export request whole, before anything of it is stored. Throws MalformedOtlp. */
export function readRequest(
  signal: Signal,
  bytes: Buffer,
  hash: Buffer = hashOfRequest(signal, bytes),
): ReadRequest {
  return signal === 'traces' ? { hash, traces: decodeTraces(bytes) } : { hash, logs: decodeLogs(bytes) }
}

/** Where an item stands in its request, and what its sender may send. */
interface From extends SentFrom {
  readonly service: string
  readonly sender: string | undefined
  readonly allowed: Allowed | undefined
  /** Which attribute that says whose it is its resource gives more than once, where that matters. */
  readonly repeated: string | undefined
}

/** Writes one request into the store and the merge graph, inside the caller's transaction. */
export class RequestRecorder {
  readonly #store: ArrivalStore
  readonly #graph: MergeGraph
  readonly #settings: RecordSettings
  readonly #rules: SenderRules | undefined
  /** The CPID that the span or log before carried, in the same request: often the next one carries it too. */
  #before: { text: string; id: number } | undefined
  /** Of the request that is being recorded. */
  #budget = cycleBudget()

  constructor(store: ArrivalStore, graph: MergeGraph, settings: RecordSettings) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
    this.#rules = settings.senders && new SenderRules(settings.senders)
  }

  /** `sender` is there where the receiver knows who sent it. */
  record(request: ReadRequest, counts: IngestCounts, sender?: Sender): RequestAnswer {
    const allowed = this.#rules?.of(sender)
    const hash = allowed?.hashOf(request.hash) ?? request.hash
    const before = this.#store.answerTo(hash)
    if (before !== undefined) {
      counts.repeatedRequests++
      return before
    }
    this.#before = undefined
    this.#budget = cycleBudget(this.#settings.maxCycleEdges)
    const name = sender && nameOfSender(sender)
    const answer = new AnswerBuilder(request.traces ?? request.logs)
    for (const resource of request.traces?.resources ?? []) {
      for (const scope of resource.scopes) {
        if (scope.records.length === 0) continue
        const from = this.#from(resource, scope.envelope, name, allowed)
        for (const span of scope.records) this.#span(span, from, counts, answer)
      }
    }
    for (const resource of request.logs?.resources ?? []) {
      for (const scope of resource.scopes) {
        if (scope.records.length === 0) continue
        const from = this.#from(resource, scope.envelope, name, allowed)
        for (const log of scope.records) this.#log(log, from, counts, answer)
      }
    }
    const built = answer.build()
    this.#store.addRequest(hash, built)
    return built
  }

  #from(
    resource: ResourceGroup<unknown>,
    envelope: Buffer,
    sender: string | undefined,
    allowed: Allowed | undefined,
  ): From {
    const { service, cluster = '' } = resource
    const repeated = allowed && resource.repeated
    return { scope: this.#store.scope(resource, envelope), service, cluster, sender, allowed, repeated }
  }

  #span(span: SpanRecord, from: From, counts: IngestCounts, answer: AnswerBuilder): void {
    for (const mergelog of span.mergelogs ?? []) {
      const refusal = this.#mergelog(mergelog, from, counts)
      if (refusal !== undefined) answer.warn(refusal)
    }
    const doubt = from.allowed && (from.repeated ?? (span.repeatsCpid ? CPID_ID : undefined))
    if (doubt !== undefined || from.allowed?.may('spans', from.service, from.cluster) === false) {
      counts.forbiddenSpans++
      answer.reject(doubt === undefined ? forbidden('spans', from) : inDoubt('spans', doubt))
      return
    }
    const cpid = this.#carried(span.cpid, counts, answer, from.allowed && from)
    this.#store.addSpan(span, from, cpid)
    counts.spans++
  }

  #log(log: LogRecord, from: From, counts: IngestCounts, answer: AnswerBuilder): void {
    const { allowed, service, cluster } = from
    const doubt = allowed && (from.repeated ?? (log.repeatsCpid ? CPID_ID : undefined))
    const send = log.mergelog === undefined ? 'logs' : 'mergelogs'
    if (doubt !== undefined || allowed?.may(send, service, cluster) === false) {
      answer.reject(this.#forbidLog(log, from, counts, doubt))
      return
    }
    let cpid = this.#carried(log.cpid, counts, answer)
    if (log.mergelog !== undefined) {
      const refusal = this.#mergelog(log.mergelog, from, counts)
      if (refusal !== undefined) {
        answer.reject(refusal)
        return
      }
      const merged = parseCpid(log.mergelog.newCpid)
      if (cpid === undefined && merged !== undefined) cpid = this.#graph.sight(merged).id
    }
    this.#store.addLog(log, from.scope, cpid)
    counts.logs++
  }

  /** Nothing of what its sender may not send is taken in, not even that it carries a CPID. */
  #forbidLog({ mergelog }: LogRecord, from: From, counts: IngestCounts, doubt: string | undefined): string {
    const refusal =
      mergelog &&
      this.#mergelog(doubt === undefined ? mergelog : { ...mergelog, repeated: doubt }, from, counts)
    if (refusal !== undefined) return refusal
    counts.forbiddenLogs++
    return doubt === undefined ? forbidden('log records', from) : inDoubt('log records', doubt)
  }

  /** The number of the CPID a span or log carries; malformed ones are a warning. It belongs to whoever has it first. */
  #carried(
    text: string | null | undefined,
    counts: IngestCounts,
    answer: AnswerBuilder,
    claimant?: Owner,
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

  /** Why the sender may not send this mergelog. */
  #forbids(
    { sources }: Mergelog,
    record: MergelogRecord,
    { allowed, service, cluster, repeated }: From,
  ): MergelogRefusal | undefined {
    if (allowed === undefined) return undefined
    if ((repeated ?? record.repeated) !== undefined) return 'repeated_attribute'
    if (!allowed.may('mergelogs', service, cluster)) return 'sender_not_allowed'
    if (allowed.mayMergeAll) return undefined
    const isForeign = sources.some((source) => {
      const node = this.#graph.find(source)
      return !allowed.mayMerge(node && this.#store.ownerOf(node.id))
    })
    return isForeign ? 'foreign_source' : undefined
  }

  /** Whether a sender has a better claim to a CPID than whoever sent its mergelog. */
  #isBetter({ id, claim }: CpidNode, from: From): boolean {
    const owner = claim && this.#store.ownerOf(id)
    return claim !== undefined && owner !== undefined && rightTo(claim, from) > rightTo(claim, owner)
  }

  /** Records a mergelog; a sentence when it is refused. */
  #mergelog(record: MergelogRecord, from: From, counts: IngestCounts): string | undefined {
    const checked = checkMergelog(record, this.#settings.maxSources)
    const mergelog = typeof checked === 'string' ? checked : (this.#forbids(checked, record, from) ?? checked)
    const outcome =
      typeof mergelog === 'string'
        ? ({ kind: 'refused', refusal: mergelog } as const)
        : recordMergelog(this.#graph, mergelog, {
            maxFanout: this.#settings.maxFanout,
            budget: this.#budget,
            ...(from.allowed !== undefined && { isBetter: (node) => this.#isBetter(node, from) }),
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
          this.#store.addMergelog(id, outcome.arrival, mergelog, record, timeNs, from)
          if (mergelog.sources.length > 0) counts.merges++
        }
        counts.mergelogs++
        return undefined
      case 'repeated':
        counts.repeatedMergelogs++
        return undefined
      case 'refused': {
        counts.refusedMergelogs[outcome.refusal] = (counts.refusedMergelogs[outcome.refusal] ?? 0) + 1
        this.#store.addRejectedMergelog(record, outcome.refusal, from)
        return refusalSentence(outcome.refusal, record.newCpid, this.#settings.maxSources)
      }
    }
  }
}

function inDoubt(items: string, key: string): string {
  return `${items} with more than one ${key} are refused, since connectors::cpid::senders decides by it; give it once`
}

function forbidden(items: string, { sender, service, cluster }: From): string {
  const [name, as, of] = [sender ?? 'an unknown sender', service, cluster].map((text) =>
    text.slice(0, MAX_NAME),
  )
  return `${name ?? ''} may not send ${items} for service "${as ?? ''}" of cluster "${of ?? ''}"; see connectors::cpid::senders`
}

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
