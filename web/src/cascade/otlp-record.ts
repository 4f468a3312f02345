/** OTLP/JSON as the API returns it. Fields that a sender left out are missing. */
interface AnyValue {
  stringValue?: string
  boolValue?: boolean
  intValue?: string | number
  doubleValue?: number | string
  bytesValue?: string
  arrayValue?: { values?: AnyValue[] }
  kvlistValue?: { values?: KeyValue[] }
}

export interface KeyValue {
  key: string
  value?: AnyValue
}

export interface OtlpSpan {
  traceId?: string
  spanId?: string
  name?: string
  startTimeUnixNano?: string
  attributes?: KeyValue[]
  events?: { timeUnixNano?: string; name?: string; attributes?: KeyValue[] }[]
  links?: { traceId?: string; spanId?: string; attributes?: KeyValue[] }[]
  status?: { code?: number; message?: string }
}

interface OtlpLog {
  timeUnixNano?: string
  observedTimeUnixNano?: string
  severityText?: string
  severityNumber?: number
  eventName?: string
  body?: AnyValue
  attributes?: KeyValue[]
  traceId?: string
  spanId?: string
}

interface Resource {
  attributes?: KeyValue[]
}

export interface SpansAnswer {
  resourceSpans?: { resource?: Resource; scopeSpans?: { scope?: { name?: string }; spans?: OtlpSpan[] }[] }[]
}

export interface LogsAnswer {
  partial?: string
  resourceLogs?: { resource?: Resource; scopeLogs?: { logRecords?: OtlpLog[] }[] }[]
  next?: string | null
}

/** A log record and who sent it. */
export interface LogLine {
  record: OtlpLog
  service: string
  /** The object of an Event, as `Pod web-x`. */
  about?: string
}

/** The requested span, with its resource. */
export function spanOf(
  answer: SpansAnswer,
): { span: OtlpSpan; scope: string; resource: KeyValue[] } | undefined {
  for (const { resource, scopeSpans = [] } of answer.resourceSpans ?? []) {
    for (const { scope, spans = [] } of scopeSpans) {
      const [span] = spans
      if (span !== undefined) return { span, scope: scope?.name ?? '', resource: resource?.attributes ?? [] }
    }
  }
  return undefined
}

export function logLines(answer: LogsAnswer): LogLine[] {
  const lines: LogLine[] = []
  for (const { resource, scopeLogs = [] } of answer.resourceLogs ?? []) {
    const service = attribute(resource?.attributes, 'service.name') ?? 'unknown_service'
    const kind = attribute(resource?.attributes, 'k8s.object.kind')
    const name = attribute(resource?.attributes, 'k8s.object.name')
    const about = kind === undefined || name === undefined ? {} : { about: `${kind} ${name}` }
    for (const { logRecords = [] } of scopeLogs) {
      for (const record of logRecords) lines.push({ record, service, ...about })
    }
  }
  return lines.sort((a, b) => Number(nanosOf(a.record) - nanosOf(b.record)))
}

export function nanosOf({ timeUnixNano, observedTimeUnixNano }: OtlpLog): bigint {
  const own = BigInt(timeUnixNano ?? 0)
  return own === 0n ? BigInt(observedTimeUnixNano ?? 0) : own
}

const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']

/** The sender's name for it, else OTLP's name for its number. */
export function severityOf({ severityText = '', severityNumber = 0 }: OtlpLog): string {
  return severityText === '' ? (SEVERITIES[Math.floor((severityNumber - 1) / 4)] ?? '') : severityText
}

export function attribute(attributes: readonly KeyValue[] | undefined, key: string): string | undefined {
  const found = attributes?.find((one) => one.key === key)?.value
  return found === undefined ? undefined : valueText(found)
}

/** A value in one line. */
export function valueText(value: AnyValue | undefined): string {
  if (value === undefined) return ''
  if (value.stringValue !== undefined) return value.stringValue
  if (value.boolValue !== undefined) return String(value.boolValue)
  if (value.intValue !== undefined) return String(value.intValue)
  if (value.doubleValue !== undefined) return String(value.doubleValue)
  if (value.bytesValue !== undefined) return `${value.bytesValue} (base64)`
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueText).join('\n')
  if (value.kvlistValue !== undefined) {
    const pairs = (value.kvlistValue.values ?? []).map((pair) => `${pair.key}=${valueText(pair.value)}`)
    return `{${pairs.join(', ')}}`
  }
  return ''
}
