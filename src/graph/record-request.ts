import { hash } from 'node:crypto'
import type { ArrivalStore, IngestCounts, RequestAnswer, Sender } from '../model/arrival-port.ts'
import type { Decoded, LogRecord, MergelogRecord, SpanRecord } from '../model/arrivals.ts'
import { nanosOfMs } from '../model/clock.ts'
import { parseCpid } from '../model/cpid.ts'
import type { MergeGraph } from '../model/graph-port.ts'
import type { Signal } from '../model/ingest.ts'
import { decodeLogs } from '../otlp/decode-logs.ts'
import { decodeTraces } from '../otlp/decode-traces.ts'
import { checkMergelog, refusalSentence } from './check-mergelog.ts'
import { recordMergelog } from './record-mergelog.ts'

const MAX_REASONS = 10

export interface RecordSettings {
  maxSources: number
  maxFanout: number
}

/** A decoded request and the hash by which its repetition is known. */
export interface ReadRequest {
  hash: Buffer
  traces?: Decoded<SpanRecord>
  logs?: Decoded<LogRecord>
}

/** Decodes an export request before any transaction begins. Throws MalformedOtlp. */
export function readRequest(signal: Signal, bytes: Buffer): ReadRequest {
  const digest = hash('sha256', bytes, 'buffer').subarray(0, 16)
  if (signal === 'traces') return { hash: digest, traces: decodeTraces(bytes) }
  // The same bytes can be a valid request of either signal.
  digest[0] = (digest[0] ?? 0) ^ 0xff
  return { hash: digest, logs: decodeLogs(bytes) }
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
    repeatedRequests: 0,
  }
}

/** Writes one request into the store and the merge graph, inside the caller's transaction. */
export class RequestRecorder {
  readonly #store: ArrivalStore
  readonly #graph: MergeGraph
  readonly #settings: RecordSettings

  constructor(store: ArrivalStore, graph: MergeGraph, settings: RecordSettings) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
  }

  record(request: ReadRequest, counts: IngestCounts): RequestAnswer {
    const before = this.#store.answerTo(request.hash)
    if (before !== undefined) {
      counts.repeatedRequests++
      return before
    }
    const answer = new AnswerBuilder(request.traces ?? request.logs)
    for (const resource of request.traces?.resources ?? []) {
      for (const scope of resource.scopes) {
        if (scope.records.length === 0) continue
        const scopeId = this.#store.scope(resource, scope.envelope)
        const sender = { scope: scopeId, cluster: resource.cluster ?? '' }
        for (const span of scope.records) this.#span(span, sender, counts, answer)
      }
    }
    for (const resource of request.logs?.resources ?? []) {
      for (const scope of resource.scopes) {
        if (scope.records.length === 0) continue
        const scopeId = this.#store.scope(resource, scope.envelope)
        const sender = { scope: scopeId, cluster: resource.cluster ?? '' }
        for (const log of scope.records) this.#log(log, sender, counts, answer)
      }
    }
    const built = answer.build()
    this.#store.addRequest(request.hash, built)
    return built
  }

  #span(span: SpanRecord, sender: Sender, counts: IngestCounts, answer: AnswerBuilder): void {
    for (const mergelog of span.mergelogs ?? []) {
      const refusal = this.#mergelog(mergelog, sender, counts)
      if (refusal !== undefined) answer.warn(refusal)
    }
    const cpid = this.#carried(span.cpid, counts, answer)
    this.#store.addSpan(span, sender, cpid)
    counts.spans++
  }

  #log(log: LogRecord, sender: Sender, counts: IngestCounts, answer: AnswerBuilder): void {
    let cpid = this.#carried(log.cpid, counts, answer)
    if (log.mergelog !== undefined) {
      const refusal = this.#mergelog(log.mergelog, sender, counts)
      if (refusal !== undefined) {
        answer.reject(refusal)
        return
      }
      const merged = parseCpid(log.mergelog.newCpid)
      if (cpid === undefined && merged !== undefined) cpid = this.#graph.sight(merged).id
    }
    this.#store.addLog(log, sender.scope, cpid)
    counts.logs++
  }

  /** The number of the CPID a span or log carries; malformed ones are a warning. */
  #carried(text: string | null | undefined, counts: IngestCounts, answer: AnswerBuilder): number | undefined {
    if (text === undefined) return undefined
    const cpid = text === null ? undefined : parseCpid(text)
    if (cpid === undefined) {
      counts.malformedCpids++
      answer.warn('cpid.id is not a UUID or is all zeros; kept without a CPID')
      return undefined
    }
    const node = this.#graph.sight(cpid)
    if (node.pruned) this.#graph.revive(node)
    return node.id
  }

  /** Records a mergelog; a sentence when it is refused. */
  #mergelog(record: MergelogRecord, sender: Sender, counts: IngestCounts): string | undefined {
    const mergelog = checkMergelog(record, this.#settings.maxSources)
    const outcome =
      typeof mergelog === 'string'
        ? ({ kind: 'refused', refusal: mergelog } as const)
        : recordMergelog(this.#graph, mergelog, this.#settings.maxFanout)
    switch (outcome.kind) {
      case 'new':
        if (typeof mergelog !== 'string') {
          const timeNs = record.timeNs === 0n ? nanosOfMs(this.#store.wallMs) : record.timeNs
          this.#store.addMergelog(
            this.#graph.sight(mergelog.cpid).id,
            outcome.arrival,
            mergelog,
            record,
            timeNs,
            sender,
          )
          if (mergelog.sources.length > 0) counts.merges++
        }
        counts.mergelogs++
        return undefined
      case 'repeated':
        counts.repeatedMergelogs++
        return undefined
      case 'refused': {
        counts.refusedMergelogs[outcome.refusal] = (counts.refusedMergelogs[outcome.refusal] ?? 0) + 1
        this.#store.addRejectedMergelog(record, outcome.refusal, sender.scope)
        return refusalSentence(outcome.refusal, record.newCpid, this.#settings.maxSources)
      }
    }
  }
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
