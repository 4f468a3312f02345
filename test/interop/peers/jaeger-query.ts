import { placedSpans, type PlacedSpan, type TracesJson } from '../traces/otlp-json.ts'

/** A trace as Jaeger's page gets it. */
export interface LegacyTrace {
  traceID: string
  spans: LegacySpan[]
  /** Resources, by the `processID` of their spans. */
  processes: Readonly<Record<string, { tags: { key: string; value: unknown }[] }>>
}

export interface LegacySpan {
  traceID: string
  spanID: string
  operationName: string
  processID: string
  references: { refType: 'CHILD_OF' | 'FOLLOWS_FROM'; traceID: string; spanID: string }[]
}

const MAX_TRACES = '10000'

/** Asks Jaeger's query API. Its answers are JSON, though Jaeger calls them plain text. */
export class JaegerQuery {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** The spans of a trace; none when Jaeger does not know it. */
  async trace(traceId: string): Promise<PlacedSpan[]> {
    const answer = await this.#ask<{ result: TracesJson }>(`/api/v3/traces/${traceId}`)
    return answer === undefined ? [] : placedSpans(answer.result)
  }

  async legacyTrace(traceId: string): Promise<LegacyTrace> {
    const answer = await this.#ask<{ data: LegacyTrace[] }>(`/api/traces/${traceId}`)
    const trace = answer?.data[0]
    if (trace === undefined) throw new Error(`Jaeger has no trace ${traceId}`)
    return trace
  }

  /** The spans of every trace in which a service has a part. */
  async tracesOf(service: string): Promise<PlacedSpan[]> {
    const query = new URLSearchParams({
      'query.service_name': service,
      'query.start_time_min': '2000-01-01T00:00:00Z',
      'query.start_time_max': '2100-01-01T00:00:00Z',
      'query.num_traces': MAX_TRACES,
    })
    const answer = await this.#ask<{ result: TracesJson }>(`/api/v3/traces?${query.toString()}`)
    return answer === undefined ? [] : placedSpans(answer.result)
  }

  async #ask<T>(path: string): Promise<T | undefined> {
    const response = await fetch(this.#url + path)
    if (response.status === 404) return undefined
    const text = await response.text()
    if (!response.ok) throw new Error(`Jaeger answers ${response.status} to ${path}: ${text}`)
    return JSON.parse(text) as T
  }
}
