/** POSTs OTLP/JSON to `host:port` and returns the answer's body; throws unless that is success. */
export async function sendOtlp(
  endpoint: string,
  signal: 'traces' | 'logs',
  request: object,
): Promise<unknown> {
  const response = await fetch(`http://${endpoint}/v1/${signal}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${endpoint} answers ${response.status} to ${signal}: ${text}`)
  return JSON.parse(text) as unknown
}

/** A request with log records of one service. */
export function logsRequest(service: string, logRecords: readonly object[]): object {
  const resource = { attributes: [{ key: 'service.name', value: { stringValue: service } }] }
  return { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] }
}

/** The log record that says: these changes merged into this new one. */
export function mergelogRecord(cpid: string, sources: readonly string[]): object {
  return {
    timeUnixNano: nanosNow(),
    eventName: 'cpid.mergelog',
    attributes: [
      { key: 'cpid.new', value: { stringValue: cpid } },
      {
        key: 'cpid.sources',
        value: { arrayValue: { values: sources.map((stringValue) => ({ stringValue })) } },
      },
    ],
  }
}

export function logRecord(text: string): object {
  return { timeUnixNano: nanosNow(), body: { stringValue: text } }
}

/** The time in nanoseconds, as OTLP/JSON has it. */
export function nanosNow(): string {
  return `${Date.now()}000000`
}
