import type { CausewayQueries, TraceFacts } from '../../model/ports/query-port.ts'
import type { JsonObject } from '../../otlp/json/protobuf-to-json.ts'
import { findTraces, serviceOf, type TraceSearch } from './find-traces.ts'
import { startAndEnd } from './matches-condition.ts'
import { objectOf, SpanRenderer, textOf, type ShownSpan } from './shown-span.ts'

const ERROR = 2

/** What Jaeger's page lists of the traces with a span that is looked for (api_v3, FindTraceSummaries). */
export function* jaegerSummariesJson(queries: CausewayQueries, search: TraceSearch): Generator<string> {
  let separator = ''
  yield '{"summaries":['
  for (const found of findTraces(queries, search)) {
    if (found === undefined) {
      yield ''
      continue
    }
    const summary = yield* summaryOf(queries, found.trace)
    yield separator + JSON.stringify(summary)
    separator = ','
  }
  yield ']}'
}

function* summaryOf(queries: CausewayQueries, { id, traceId }: TraceFacts): Generator<string, JsonObject> {
  const shower = new SpanRenderer(queries)
  const summing = new Summing()
  for (const page of queries.sentInto(id)) {
    for (const shown of page.flatMap((item) => shower.show(item))) summing.add(shown)
    yield ''
  }
  return summing.json(traceId.toString('hex'))
}

interface Counts {
  spans: number
  errors: number
}

class Summing {
  readonly #services = new Map<string, Counts>()
  readonly #spanIds = new Set<string>()
  /** How many spans name a parent, by its id. */
  readonly #parents = new Map<string, number>()
  readonly #all: Counts = { spans: 0, errors: 0 }
  #root: { startNs: bigint; name: string; service: string } | undefined
  #startNs: bigint | undefined
  #endNs = 0n

  add({ span, resource }: ShownSpan): void {
    const { startNs, endNs } = startAndEnd(span)
    const service = serviceOf(resource)
    const counts = this.#services.get(service) ?? { spans: 0, errors: 0 }
    this.#services.set(service, counts)
    const isError = Number(objectOf(span['status'])['code'] ?? 0) === ERROR
    for (const one of [counts, this.#all]) {
      one.spans++
      if (isError) one.errors++
    }
    if (this.#startNs === undefined || startNs < this.#startNs) this.#startNs = startNs
    if (endNs > this.#endNs) this.#endNs = endNs
    this.#spanIds.add(textOf(span['spanId']))
    const parent = textOf(span['parentSpanId'])
    if (parent !== '') this.#parents.set(parent, (this.#parents.get(parent) ?? 0) + 1)
    else if (this.#root === undefined || startNs < this.#root.startNs)
      this.#root = { startNs, name: textOf(span['name']), service }
  }

  /** As protobuf's JSON has it: long numbers are texts, and what is zero or empty is left out. */
  json(traceId: string): JsonObject {
    const orphans = [...this.#parents].reduce(
      (sum, [id, spans]) => sum + (this.#spanIds.has(id) ? 0 : spans),
      0,
    )
    const services = [...this.#services].sort(([a], [b]) => (a < b ? -1 : 1))
    return present({
      traceId,
      rootServiceName: this.#root?.service ?? '',
      rootOperationName: this.#root?.name ?? '',
      minStartTimeUnixNano: String(this.#startNs ?? 0n),
      maxEndTimeUnixNano: String(this.#endNs),
      spanCount: this.#all.spans,
      errorSpanCount: this.#all.errors,
      orphanSpanCount: orphans,
      services: services.map(([name, { spans, errors }]) =>
        present({ name, spanCount: spans, errorSpanCount: errors }),
      ),
    })
  }
}

function present(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== 0 && value !== ''))
}
