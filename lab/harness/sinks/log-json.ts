/** A log record as a backend receives it. */
export interface SentLog {
  /** The text of its body, or its event name where it has none. */
  what: string
  traceId: string
  spanId: string
  /** Those whose values are texts. */
  attributes: Record<string, unknown>
}

export interface LogJson {
  body?: { stringValue?: string }
  eventName?: string
  traceId?: string
  spanId?: string
  attributes?: { key: string; value?: { stringValue?: string } }[]
}

export function logOf({ body, eventName, traceId, spanId, attributes }: LogJson): SentLog {
  return {
    what: body?.stringValue ?? eventName ?? '',
    traceId: traceId ?? '',
    spanId: spanId ?? '',
    attributes: Object.fromEntries((attributes ?? []).map(({ key, value }) => [key, value?.stringValue])),
  }
}
