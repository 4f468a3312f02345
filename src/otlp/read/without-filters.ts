import type { Decoded, SpanRecord } from '../../model/arrivals.ts'

/**
 * How the scope of an API server's filter spans ends (`audit`, `authentication`, …): k8s.io/apiserver's package of that name. What
 * comes before is written in more than one way.
 */
const FILTERS = Buffer.from('/apiserver/pkg/endpoints/filterlatency')
/** How many filters may stand one within another. */
const MAX_NESTED = 64

/** Spans without those of an API server's filters, of which there were `dropped`; what was below one is below what that was below. */
export function withoutFilters(traces: Decoded<SpanRecord>): {
  traces: Decoded<SpanRecord>
  dropped: number
} {
  const parents = new Map<string, bigint>()
  for (const { scopes } of traces.resources)
    for (const { envelope, records } of scopes)
      if (envelope.includes(FILTERS))
        for (const span of records) parents.set(keyOf(span, span.spanId), span.parentId)
  if (parents.size === 0) return { traces, dropped: 0 }
  let dropped = 0
  const resources = traces.resources.map((resource) => ({
    ...resource,
    scopes: resource.scopes.flatMap((scope) => {
      if (!scope.envelope.includes(FILTERS))
        return [{ ...scope, records: scope.records.map((span) => above(span, parents)) }]
      dropped += scope.records.length
      return []
    }),
  }))
  return { traces: { ...traces, resources }, dropped }
}

function above(span: SpanRecord, parents: ReadonlyMap<string, bigint>): SpanRecord {
  let { parentId } = span
  for (let at = 0; at < MAX_NESTED; at++) {
    const next = parents.get(keyOf(span, parentId))
    if (next === undefined) return parentId === span.parentId ? span : { ...span, parentId }
    parentId = next
  }
  return span
}

const keyOf = ({ traceKey }: SpanRecord, spanId: bigint): string => `${traceKey}${spanId}`
