import { outgoingSpan } from '../../src/model/otlp/outgoing-records.ts'
import type { OtlpJson } from '../../src/model/otlp/message-schema.ts'
import { jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { SqliteOutbox } from '../../src/store/sqlite/outbox.ts'

/** A span as a backend receives it. */
export interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  service: string
  startNs: bigint
  endNs: bigint
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string }[]
  droppedLinks: number
}

/** Everything the outbox holds after a position, in order. */
export function sentSpans(db: Sqlite, after = 0): SentSpan[] {
  const outbox = new SqliteOutbox(db)
  const service = db
    .prepare<[number], string>(
      'SELECT r.service FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?',
    )
    .pluck()
  return outbox.after(after, 1_000_000).flatMap((item) => {
    const bytes = outgoingSpan(item)
    if (bytes === undefined) return []
    const json = jsonOfProtobuf('Span', bytes) as OtlpJson<'Span'>
    return [spanOf(json, service.get(item.scope) ?? '?')]
  })
}

function spanOf(json: OtlpJson<'Span'>, service: string): SentSpan {
  return {
    traceId: json.traceId ?? '',
    spanId: json.spanId ?? '',
    parentSpanId: json.parentSpanId ?? '',
    name: json.name ?? '',
    service,
    startNs: BigInt(json.startTimeUnixNano ?? 0),
    endNs: BigInt(json.endTimeUnixNano ?? 0),
    attributes: Object.fromEntries((json.attributes ?? []).map(({ key = '', value }) => [key, plain(value)])),
    links: (json.links ?? []).map(({ traceId = '', spanId = '' }) => ({ traceId, spanId })),
    droppedLinks: json.droppedLinksCount ?? 0,
  }
}

function plain(value: OtlpJson<'AnyValue'> | undefined): unknown {
  if (value?.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain)
  return (
    value?.stringValue ??
    value?.boolValue ??
    (value?.intValue === undefined ? undefined : Number(value.intValue))
  )
}

/** Draws one trace as an indented tree, a line a span: `name @service` and `copy` where it is one. */
export function drawTrace(spans: readonly SentSpan[], traceId: string): string {
  const mine = spans.filter((span) => span.traceId === traceId)
  const ids = new Set(mine.map((span) => span.spanId))
  const lines: string[] = []
  const draw = (span: SentSpan, depth: number): void => {
    const copy = span.attributes['cpid.copy'] === true ? ' copy' : ''
    lines.push(`${'  '.repeat(depth)}${span.name} @${span.service}${copy}`)
    for (const child of mine) if (child.parentSpanId === span.spanId) draw(child, depth + 1)
  }
  for (const span of mine) {
    if (span.parentSpanId === '') draw(span, 0)
    else if (!ids.has(span.parentSpanId)) {
      lines.push('(orphan)')
      draw(span, 1)
    }
  }
  return lines.join('\n')
}

/** The trace id of a CPID's main trace. */
export const traceOf = (cpid: string): string => cpid.replaceAll('-', '')
