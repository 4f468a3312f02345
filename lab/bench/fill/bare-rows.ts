import { hash, randomInt } from 'node:crypto'
import type { ScopeGroup, SpanRecord } from '../../../src/model/arrivals.ts'
import { decodeTraces } from '../../../src/model/otlp/decode-requests.ts'
import { sortedByPrefix, TRACE_INDEX_SIZES } from '../../../src/store/sqlite/trace-id-index.ts'
import { SpanRequests } from '../load/span-requests.ts'

/** The values of one INSERT. */
export type Row = readonly (string | number | bigint | Buffer | null)[]

/** What Causeway stores of one request. */
export interface RequestRows {
  body: Buffer
  request: Row
  origins: Row[]
  /** Ids of original traces that go into their index with it. */
  indexed: Row[]
  spans: Row[]
  pairs: Row[]
}

const CPIDS = 100
const SCOPE = 1

/**
 * Rows of the requests that the load generator sends, made as Causeway makes them: a span refers to the number of its
 * original trace, of its scope and of its CPID. Nothing of the making is part of what is measured.
 */
export class BareRows {
  readonly #requests: SpanRequests
  readonly #numbers = new Map<string, number>()
  readonly #pairs = new Set<string>()
  #unindexed: string[] = []
  #going: string[] = []
  #request = 0
  #arrival = 0

  constructor() {
    const cpids = Array.from({ length: CPIDS }, (_, at) => Buffer.from(cpidText(at)))
    const identity = { stream: 0, streams: 1, seed: randomInt(2 ** 31) }
    this.#requests = new SpanRequests('scheduler', identity, cpids)
  }

  get lastArrival(): number {
    return this.#arrival
  }

  next(nowMs: number): RequestRows {
    this.#requests.fill(this.#request++, nowMs)
    const body = Buffer.from(this.#requests.bytes)
    const digest = hash('sha256', body, 'buffer').subarray(0, 16)
    const rows: RequestRows = {
      body,
      request: [digest, nowMs, 0, ''],
      origins: [],
      indexed: [],
      spans: [],
      pairs: [],
    }
    for (const { scopes } of decodeTraces(body).resources)
      for (const scope of scopes) this.#addSpans(scope, rows)
    this.#index(rows)
    return rows
  }

  #index({ origins, indexed }: RequestRows): void {
    for (const traceKey of this.#going.splice(0, origins.length))
      indexed.push([Buffer.from(traceKey, 'latin1'), this.#numbers.get(traceKey) ?? 0])
    if (this.#going.length > 0 || this.#unindexed.length < TRACE_INDEX_SIZES.batch) return
    this.#going = sortedByPrefix(this.#unindexed)
    this.#unindexed = []
  }

  #addSpans({ records }: ScopeGroup<SpanRecord>, { origins, spans, pairs }: RequestRows): void {
    for (const { traceKey, spanId, parentId, startNs, endNs, kind, status, name, raw, cpid } of records) {
      let origin = this.#numbers.get(traceKey)
      if (origin === undefined) {
        origin = this.#numbers.size + 1
        this.#numbers.set(traceKey, origin)
        origins.push([origin, Buffer.from(traceKey, 'latin1'), startNs])
        this.#unindexed.push(traceKey)
      }
      const cpidNumber = 1 + parseInt(cpid?.slice(0, 8) ?? '0', 16)
      const span = [spanId, parentId, startNs, endNs, SCOPE, kind, status, 0, name, raw]
      spans.push([++this.#arrival, cpidNumber, origin, ...span])
      const pair = `${cpidNumber} ${origin}`
      if (this.#pairs.has(pair)) continue
      this.#pairs.add(pair)
      pairs.push([cpidNumber, origin])
    }
  }
}

/** Its first eight digits are its number. */
function cpidText(at: number): string {
  return `${at.toString(16).padStart(8, '0')}-0000-4000-8000-000000000001`
}
