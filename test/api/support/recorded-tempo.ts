import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { TestWriter } from '../../support/test-writer.ts'

const FOLDER = new URL('../../query/fixtures/tempo/', import.meta.url)

function recorded(name: string): unknown {
  return JSON.parse(gunzipSync(readFileSync(new URL(name, FOLDER))).toString())
}

export interface RecordedSeries {
  labels?: { key: string; value: Record<string, unknown> }[]
  samples?: { timestampMs: string; value?: number }[]
  exemplars?: unknown[]
}

interface Recorded {
  base: number
  search: { q: string; status: number; traces?: Record<string, string[]> }[]
  metrics: { q: string; status: number; body: string | { series?: RecordedSeries[] } }[]
}

/** What a real Tempo answered. */
export const RECORDED = recorded('answers.json.gz') as Recorded

/** The queries that Causeway answers otherwise, and why. */
export const OTHERWISE: Readonly<Record<string, string>> = {
  '{ .foo = nil }':
    'Tempo passes over the first and the last span of a block here, whatever they have; Causeway finds them',
  '{} | sum_over_time(span.db.rows)':
    'Tempo begins anew after each span without a value; Causeway adds all of them',
  '{ nestedSetParent<0 && true } | histogram_over_time(duration) with(sample=true)':
    'Tempo looks at some spans and multiplies; Causeway counts all',
}

interface RecordedAttributes {
  attributes?: { key: string; value: Record<string, unknown> }[]
}

export interface RecordedSpan extends RecordedAttributes {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind?: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  status?: { code?: number }
  events?: (RecordedAttributes & { name: string })[]
  resource: RecordedAttributes
}

/** The spans about which it was asked. */
export function spansOfRecording(): RecordedSpan[] {
  const { resourceSpans } = recorded('spans.json.gz') as {
    resourceSpans: {
      resource: RecordedAttributes
      scopeSpans: { spans: Omit<RecordedSpan, 'resource'>[] }[]
    }[]
  }
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, resource }))),
  )
}

/** A database with these spans. */
export async function recordedSpans(path: string): Promise<TestWriter> {
  const writer = await TestWriter.open({}, path)
  const json = JSON.stringify(recorded('spans.json.gz'))
  writer.ingest('traces', Buffer.from(protobufOfJson('traces', Buffer.from(json))))
  writer.pass(1_000_000)
  return writer
}
