import { CPID_UNDECODABLE } from '../model/attributes.ts'
import { envelopeBytes, sentSpan } from '../model/otlp/outgoing-records.ts'
import { type Json, type JsonObject, jsonOfProtobuf } from '../model/otlp/protobuf-to-json.ts'
import { unlessMalformed, WireCursor } from '../model/otlp/protobuf-wire.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages, StoredRecord } from '../model/queries.ts'

/** A span with its resource and scope as they were sent, in OTLP/JSON. */
export interface SentSpanJson {
  readonly span: JsonObject
  readonly resource: JsonObject
  readonly scope: JsonObject
  readonly resourceId: number
}

/** Resources with scopes longer than this are not cached together: they may be as long as a request. */
const LARGE_BYTES = 65_536

type Envelopes = Pick<CausewayQueries, 'envelopes'>

/** Renders spans as they were sent; none for a span that was pruned. Resources and scopes are cached. */
export class SpanRenderer {
  readonly #queries: Envelopes
  readonly #scopes = new Map<number, Omit<SentSpanJson, 'span'>>()
  /** The last resource and scope that are longer than LARGE_BYTES. */
  #large: { readonly scope: number; readonly shown: Omit<SentSpanJson, 'span'> } | undefined

  constructor(queries: Envelopes) {
    this.#queries = queries
  }

  show(item: OutboxItem): SentSpanJson[] {
    const bytes = sentSpan(item)
    return bytes === undefined ? [] : [{ span: recordJson('spans', bytes), ...this.#envelopesOf(item.scope) }]
  }

  resourceOf(scope: number): JsonObject {
    return this.#envelopesOf(scope).resource
  }

  #envelopesOf(scope: number): Omit<SentSpanJson, 'span'> {
    let shown = this.#large?.scope === scope ? this.#large.shown : this.#scopes.get(scope)
    if (shown === undefined) {
      const envelopes = this.#queries.envelopes(scope)
      const resource = envelopeJson('ResourceSpans', envelopes?.resource ?? NOTHING)['resource']
      const inner = envelopeJson('ScopeSpans', envelopes?.scope ?? NOTHING)['scope']
      shown = {
        resource: jsonObjectOf(resource),
        scope: jsonObjectOf(inner),
        resourceId: envelopes?.resourceId ?? 0,
      }
      if (envelopes !== undefined && envelopeBytes(envelopes) > LARGE_BYTES) this.#large = { scope, shown }
      else this.#scopes.set(scope, shown)
    }
    return shown
  }
}

const NOTHING = Buffer.alloc(0)

export function jsonObjectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && !Array.isArray(value) ? value : {}
}

export function jsonObjectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(jsonObjectOf) : []
}

export function jsonTextOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** The attributes of a span, resource, scope, link or event: pairs of key and AnyValue. */
export function attributesOf(of: JsonObject): [key: string, value: JsonObject][] {
  return jsonObjectsOf(of['attributes']).map(({ key, value }) => [jsonTextOf(key), jsonObjectOf(value)])
}

/** The value of an AnyValue if it is a string, number or boolean; integers beyond 2^53 lose precision. */
export function attributeValue(value: JsonObject): string | number | boolean | undefined {
  const { stringValue, boolValue, intValue, doubleValue } = value
  if (typeof stringValue === 'string') return stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (intValue !== undefined) return Number(intValue)
  return doubleValue === undefined ? undefined : Number(doubleValue)
}

/** The `service.name` of a resource; empty without one. */
export function serviceOf(resource: JsonObject): string {
  const [, value] = attributesOf(resource).find(([key]) => key === 'service.name') ?? []
  return value === undefined ? '' : String(attributeValue(value) ?? '')
}

/** The start and end time of a span in OTLP/JSON. */
export function startAndEnd(span: JsonObject): { startNs: bigint; endNs: bigint } {
  const timeOf = (name: 'startTimeUnixNano' | 'endTimeUnixNano'): bigint =>
    BigInt(jsonTextOf(span[name]) || '0')
  return { startNs: timeOf('startTimeUnixNano'), endNs: timeOf('endTimeUnixNano') }
}

/** Sent spans as records, each exactly as it was sent. Spans that were pruned since are left out. */
export function* sentRecords(pages: Pages<OutboxItem>): Generator<StoredRecord[]> {
  for (const page of pages) yield page.flatMap(recordOf)
}

function recordOf(item: OutboxItem): StoredRecord[] {
  const raw = sentSpan(item)
  return raw === undefined ? [] : [{ position: [BigInt(item.decision)], scope: item.scope, raw }]
}

/** Finds the span with this id in the traces of a cascade, or in `traceId` alone; undefined if there is none. */
export function findSentSpan(
  queries: CausewayQueries,
  {
    root,
    spanId,
    traceId,
  }: { root: Parameters<CausewayQueries['tracesOf']>[0]; spanId: string; traceId?: string | undefined },
): readonly StoredRecord[] | undefined {
  const id = Buffer.from(spanId, 'hex').readBigInt64BE(0)
  for (const trace of queries.tracesOf(root)) {
    if (traceId !== undefined && trace.traceId.toString('hex') !== traceId) continue
    const records = queries.sentSpans(trace.id, id).flatMap(recordOf)
    if (records.length > 0) return records
  }
  return undefined
}

/** The field numbers of Span and LogRecord that hold no nested messages. */
const PLAIN_FIELDS = { spans: [1, 2, 3, 4, 5, 6, 7, 8, 16], logs: [1, 2, 3, 8, 9, 10, 11, 12] }
const MESSAGE = { spans: 'Span', logs: 'LogRecord' } as const
/** The field of each envelope message besides its list. */
const HELD = { ResourceSpans: 'resource', ResourceLogs: 'resource', ScopeSpans: 'scope', ScopeLogs: 'scope' }

/**
 * A stored span or log record as OTLP/JSON. Ingest does not decode every attribute, so nested bytes may be malformed protobuf. Then only
 * ids, name and times are shown, and all bytes are in the attribute `cpid.undecodable`.
 */
export function recordJson(signal: 'spans' | 'logs', raw: Buffer): JsonObject {
  return unlessMalformed(
    () => jsonOfProtobuf(MESSAGE[signal], raw),
    () => ({
      // Ingest accepts varints that are longer than necessary. This decoder may refuse them.
      ...unlessMalformed(
        () => jsonOfProtobuf(MESSAGE[signal], fieldsOf(raw, PLAIN_FIELDS[signal])),
        () => ({}),
      ),
      attributes: undecodable(raw),
    }),
  )
}

/** A stored resource or scope as OTLP/JSON. A malformed one is shown as bytes, as a malformed record is. */
export function envelopeJson(message: keyof typeof HELD, envelope: Buffer): JsonObject {
  return unlessMalformed(
    () => jsonOfProtobuf(message, envelope),
    () => ({ [HELD[message]]: { attributes: undecodable(envelope) } }),
  )
}

function undecodable(bytes: Buffer): JsonObject[] {
  return [{ key: CPID_UNDECODABLE, value: { bytesValue: bytes.toString('base64') } }]
}

/** The fields with these numbers, up to the first malformed byte. */
function fieldsOf(raw: Buffer, numbers: readonly number[]): Buffer {
  const parts: Buffer[] = []
  const cursor = new WireCursor(raw)
  const isNext = (): boolean =>
    unlessMalformed(
      () => cursor.next(),
      () => false,
    )
  while (isNext()) {
    if (numbers.includes(cursor.field)) parts.push(raw.subarray(cursor.tagAt, cursor.pos))
  }
  return Buffer.concat(parts)
}
