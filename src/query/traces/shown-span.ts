import { envelopeBytes, type OutboxItem } from '../../model/ports/outbox-port.ts'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import { sentSpan } from '../../otlp/write/outgoing-span.ts'
import { type Json, type JsonObject } from '../../otlp/json/protobuf-to-json.ts'
import { envelopeJson, recordJson } from '../record-json.ts'

/** A sent span with the resource and scope that it was sent under, in OTLP/JSON. */
export interface ShownSpan {
  readonly span: JsonObject
  readonly resource: JsonObject
  readonly scope: JsonObject
  readonly resourceId: number
}

/** Resources and scopes may be as long as a request. */
const LARGE_BYTES = 65_536

type Envelopes = Pick<CausewayQueries, 'envelopes'>

/** Sent spans as they were sent; none for one that was pruned. Envelopes are read once. */
export class SpanRenderer {
  readonly #queries: Envelopes
  readonly #scopes = new Map<number, Omit<ShownSpan, 'span'>>()
  /** The last one that is too large to be kept with the others. */
  #large: { readonly scope: number; readonly shown: Omit<ShownSpan, 'span'> } | undefined

  constructor(queries: Envelopes) {
    this.#queries = queries
  }

  show(item: OutboxItem): ShownSpan[] {
    const bytes = sentSpan(item)
    return bytes === undefined ? [] : [{ span: recordJson('spans', bytes), ...this.#envelopesOf(item.scope) }]
  }

  #envelopesOf(scope: number): Omit<ShownSpan, 'span'> {
    let shown = this.#large?.scope === scope ? this.#large.shown : this.#scopes.get(scope)
    if (shown === undefined) {
      const envelopes = this.#queries.envelopes(scope)
      const resource = envelopeJson('ResourceSpans', envelopes?.resource ?? NOTHING)['resource']
      const inner = envelopeJson('ScopeSpans', envelopes?.scope ?? NOTHING)['scope']
      shown = {
        resource: objectOf(resource),
        scope: objectOf(inner),
        resourceId: envelopes?.resourceId ?? 0,
      }
      if (envelopes !== undefined && envelopeBytes(envelopes) > LARGE_BYTES) this.#large = { scope, shown }
      else this.#scopes.set(scope, shown)
    }
    return shown
  }
}

const NOTHING = Buffer.alloc(0)

export function objectOf(value: Json | undefined): JsonObject {
  return typeof value === 'object' && !Array.isArray(value) ? value : {}
}

export function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : []
}

export function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** The attributes of a span, a resource, a scope, a link or an event: pairs of key and AnyValue. */
export function attributesOf(of: JsonObject): [key: string, value: JsonObject][] {
  return listOf(of['attributes']).map(({ key, value }) => [textOf(key), objectOf(value)])
}

/** An AnyValue where it is a text, a number or a flag; integers beyond 2^53 lose their last digits. */
export function plainValue(value: JsonObject): string | number | boolean | undefined {
  const { stringValue, boolValue, intValue, doubleValue } = value
  if (typeof stringValue === 'string') return stringValue
  if (typeof boolValue === 'boolean') return boolValue
  if (intValue !== undefined) return Number(intValue)
  return doubleValue === undefined ? undefined : Number(doubleValue)
}
