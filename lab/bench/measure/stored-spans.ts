import type { Statement } from 'better-sqlite3'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import type { FilledCpid } from '../fill/fill-cascades.ts'

const SPANS_PER_ORIGIN = 5
const NO_CPID = '00000000-0000-4000-8000-000000000000'
const MS = 1_000_000n
const STEP_NS = 2n * MS
const LENGTH_NS = 3n * MS
const ODD = 0x9e3779b97f4a7c15n

interface SpanToStore {
  row: number
  decision: number
  cpid: FilledCpid
  trace: number
  /** Its number in its cascade. */
  step: number
  startNs: bigint
  service: number
}

/** Stores spans as Causeway keeps them, with the decision that sent each: the same bytes but for ids, times and CPID. */
export class StoredSpans {
  readonly #addSpan: Statement
  readonly #addOrigin: Statement
  readonly #addPair: Statement
  readonly #send: Statement
  readonly #raw: Buffer
  readonly #places: { traceId: number; spanId: number; start: number; end: number; cpid: number }

  constructor(db: Sqlite) {
    this.#raw = template()
    this.#places = placesIn(this.#raw)
    this.#addSpan = db.prepare(
      `INSERT INTO spans (id, cpid, origin, span_id, parent_id, start_ns, end_ns, scope, kind, status, flags, name, raw)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, ?, ?)`,
    )
    this.#addOrigin = db.prepare('INSERT INTO origin_traces (id, trace_id, first_ns) VALUES (?, ?, ?)')
    this.#addPair = db.prepare('INSERT OR IGNORE INTO cpid_origins VALUES (?, ?)')
    this.#send = db.prepare(
      'INSERT INTO outbox (decision, trace, span, parent_id, flags, cause) VALUES (?, ?, ?, ?, 0, ?)',
    )
  }

  add({ row, decision, cpid, trace, step, startNs, service }: SpanToStore): void {
    const group = Math.floor(step / SPANS_PER_ORIGIN)
    const origin = trace * 1000 + group
    const originId = Buffer.alloc(16)
    originId.writeBigUInt64BE(BigInt.asUintN(64, BigInt(origin) * ODD))
    originId.writeUInt32BE(origin, 12)
    const idOf = (at: number): bigint => BigInt.asIntN(64, BigInt(trace * 1000 + at + 1) * ODD)
    const isTop = step % SPANS_PER_ORIGIN === 0
    const spanId = idOf(step)
    const localParent = isTop ? 0n : idOf(group * SPANS_PER_ORIGIN)
    const beginNs = startNs + BigInt(step) * STEP_NS
    const endNs = beginNs + LENGTH_NS
    if (isTop) this.#addOrigin.run(origin, originId, beginNs)
    this.#addPair.run(cpid.id, origin)
    const raw = Buffer.from(this.#raw)
    originId.copy(raw, this.#places.traceId)
    raw.writeBigInt64BE(spanId, this.#places.spanId)
    raw.writeBigInt64LE(beginNs, this.#places.start)
    raw.writeBigInt64LE(endNs, this.#places.end)
    raw.write(cpid.text, this.#places.cpid, 'latin1')
    const name = isTop ? 'reconcile' : 'api update'
    this.#addSpan.run(row, cpid.id, origin, spanId, localParent, beginNs, endNs, service + 1, name, raw)
    this.#send.run(decision, trace, row, isTop ? cpid.spanId : localParent, null)
  }
}

function template(): Buffer {
  const text = (key: string, value: string) => ({ key, value: { stringValue: value } })
  const span = {
    traceId: '1'.repeat(32),
    spanId: '1'.repeat(16),
    name: 'reconcile',
    kind: 1,
    startTimeUnixNano: '1',
    endTimeUnixNano: '1',
    attributes: [
      text('cpid.id', NO_CPID),
      text('k8s.namespace.name', 'default'),
      text('k8s.deployment.name', 'web-7c9d8f6b5'),
      text('controller.queue', 'deployments'),
      text('http.request.method', 'PUT'),
      { key: 'http.response.status_code', value: { intValue: '200' } },
      text('url.path', '/apis/apps/v1/namespaces/default/deployments/web-7c9d8f6b5'),
    ],
    status: {},
  }
  const request = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] })
  const bytes = Buffer.from(protobufOfJson('traces', Buffer.from(request)))
  let inner = new WireCursor(bytes)
  for (const field of [1, 2, 2]) {
    while (inner.next() && inner.field !== field);
    inner = new WireCursor(inner.bytes.subarray(inner.start, inner.end))
  }
  return Buffer.from(inner.bytes)
}

function placesIn(raw: Buffer): {
  traceId: number
  spanId: number
  start: number
  end: number
  cpid: number
} {
  const places = { traceId: 0, spanId: 0, start: 0, end: 0, cpid: raw.indexOf(NO_CPID) }
  const cursor = new WireCursor(raw)
  while (cursor.next()) {
    if (cursor.field === 1) places.traceId = cursor.start
    else if (cursor.field === 2) places.spanId = cursor.start
    else if (cursor.field === 7) places.start = cursor.start
    else if (cursor.field === 8) places.end = cursor.start
  }
  return places
}
