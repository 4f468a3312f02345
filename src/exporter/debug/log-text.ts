import { rfc3339 } from '../../model/rfc3339.ts'
import { anyValueText, attributeTexts, type AnyValueJson, type KeyValueJson } from './any-value-text.ts'
import type { RequestItem } from './request-items.ts'

/** What is shown of a LogRecord in OTLP/JSON. */
export interface LogRecordJson {
  timeUnixNano?: string
  observedTimeUnixNano?: string
  severityNumber?: number
  severityText?: string
  body?: AnyValueJson
  attributes?: KeyValueJson[]
  traceId?: string
  spanId?: string
  eventName?: string
}

type LogItem = RequestItem<LogRecordJson>

/** A log record on one line: event name, body, attributes. */
export function logLine({ item: { eventName, body, attributes } }: LogItem): string {
  const event = eventName === undefined ? [] : [eventName]
  return [...event, anyValueText(body), ...attributeTexts(attributes)].join(' ')
}

/** A log record with all that is in it, a fact a line. */
export function logLines({ resource, scope, item }: LogItem): string[] {
  return [
    `LogRecord ${item.eventName ?? ''}`,
    `    time: ${rfc3339(BigInt(item.timeUnixNano ?? 0))}`,
    `    observed time: ${rfc3339(BigInt(item.observedTimeUnixNano ?? 0))}`,
    `    severity: ${item.severityNumber ?? 0} ${item.severityText ?? ''}`,
    `    body: ${anyValueText(item.body)}`,
    `    trace id: ${item.traceId ?? ''}`,
    `    span id: ${item.spanId ?? ''}`,
    `    scope: ${scope.name ?? ''} ${scope.version ?? ''}`,
    ...attributeTexts(resource.attributes).map((text) => `    resource attribute: ${text}`),
    ...attributeTexts(item.attributes).map((text) => `    attribute: ${text}`),
  ].map((line) => line.trimEnd())
}
