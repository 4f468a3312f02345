import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'

/** A span as an API server sent it while the rollout was recorded. */
export interface RecordedSpan {
  readonly scope: string
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parent: string
  readonly start: string
  readonly end: string
  readonly attributes: Readonly<Record<string, string>>
}

const RECORDING = new URL('../inference/recordings/rollout/spans.jsonl.gz', import.meta.url)

/** What it sent of the first writes in the namespace of the rollout, of some reads, and of who asked. */
export function recordedSpans(): RecordedSpan[] {
  const text = gunzipSync(readFileSync(RECORDING)).toString()
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedSpan)
}

/** Spans in one request, those of a scope together, as an exporter groups them. */
export function requestOfApiServer(spans: readonly RecordedSpan[]): Buffer {
  const attributesOf = (attributes: Readonly<Record<string, string>>): unknown[] =>
    Object.entries(attributes).map(([key, value]) => ({ key, value: { stringValue: value } }))
  const scopeSpans = [...Map.groupBy(spans, ({ scope }) => scope)].map(([name, group]) => ({
    scope: { name },
    spans: group.map(({ traceId, spanId, parent, start, end, attributes, ...said }) => ({
      ...{ name: said.name, kind: said.kind, traceId, spanId, parentSpanId: parent },
      ...{ startTimeUnixNano: start, endTimeUnixNano: end, attributes: attributesOf(attributes) },
    })),
  }))
  const resource = { attributes: attributesOf({ 'service.name': 'apiserver' }) }
  const request = { resourceSpans: [{ resource, scopeSpans }] }
  return Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
}
