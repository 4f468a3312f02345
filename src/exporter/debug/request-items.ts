import type { SentSignal } from '../../model/ingest.ts'
import { jsonOfProtobuf } from '../../otlp/json/protobuf-to-json.ts'
import { EXPORT_REQUEST } from '../../otlp/json/schema.ts'
import type { KeyValueJson } from './any-value-text.ts'
import { ownValue } from '../../model/own-value.ts'

/** A resource or an instrumentation scope in OTLP/JSON. */
export interface EnvelopeJson {
  name?: string
  version?: string
  attributes?: KeyValueJson[]
}

/** A span, log record or metric in OTLP/JSON, with the resource and scope it came under. */
export interface RequestItem<T> {
  resource: EnvelopeJson
  scope: EnvelopeJson
  item: T
}

type Nested = Readonly<Record<string, unknown>>

/** What each signal's messages call their lists, from the outermost in (opentelemetry-proto v1). */
const LISTS: Record<SentSignal, readonly [string, string, string]> = {
  traces: ['resourceSpans', 'scopeSpans', 'spans'],
  logs: ['resourceLogs', 'scopeLogs', 'logRecords'],
  metrics: ['resourceMetrics', 'scopeMetrics', 'metrics'],
}

/** What an export request holds, and how many resources it came under. Throws MalformedOtlp when the bytes are none. */
export function requestItems<T>(
  signal: SentSignal,
  request: Uint8Array,
): { resources: number; items: RequestItem<T>[] } {
  const [groups, scopes, records] = LISTS[signal]
  const resources = listIn(jsonOfProtobuf(EXPORT_REQUEST[signal], request), groups)
  const items = resources.flatMap((group) =>
    listIn(group, scopes).flatMap((scoped) =>
      listIn(scoped, records).map((item) => ({
        resource: group['resource'] ?? {},
        scope: scoped['scope'] ?? {},
        item: item as T,
      })),
    ),
  )
  return { resources: resources.length, items }
}

function listIn(message: Nested, name: string): readonly Nested[] {
  return (ownValue(message, name) ?? []) as readonly Nested[]
}
