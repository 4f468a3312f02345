import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'

/** A log record as a backend receives it. */
export interface SentLog {
  /** The text of its body, or its event name where it has none. */
  what: string
  traceId: string
  spanId: string
  /** Those whose values are texts. */
  attributes: Record<string, unknown>
}

export function logOf({ body, eventName, traceId, spanId, attributes }: OtlpJson<'LogRecord'>): SentLog {
  return {
    what: body?.stringValue ?? eventName ?? '',
    traceId: traceId ?? '',
    spanId: spanId ?? '',
    attributes: Object.fromEntries(
      (attributes ?? []).map(({ key = '', value }) => [key, value?.stringValue]),
    ),
  }
}
