import type { LegacyTrace } from '../peers/jaeger-query.ts'
import type { SpanJson } from './otlp-json.ts'

/**
 * What would keep a backend from showing these spans as one tree. Jaeger's page looks a link up by its span id alone,
 * and takes the first one as parent where a span has none; a link to a span's own parent replaces the parent.
 */
export function traceFaults(spans: readonly SpanJson[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]))
  const roots = spans.filter((span) => !span.parentSpanId)
  return [
    ...(new Set(spans.map(({ traceId }) => traceId)).size === 1 ? [] : ['not one trace id']),
    ...(byId.size === spans.length ? [] : ['a span id twice']),
    ...(roots.length === 1 ? [] : [`${roots.length} spans without a parent: ${roots.map(named).join(', ')}`]),
    ...spans.flatMap((span) => [...parentFaults(span, byId), ...linkFaults(span, byId)]),
  ]
}

function parentFaults(span: SpanJson, byId: ReadonlyMap<string, SpanJson>): string[] {
  const seen = new Set<SpanJson>()
  for (let at: SpanJson | undefined = span; at?.parentSpanId; at = byId.get(at.parentSpanId)) {
    if (!byId.has(at.parentSpanId)) return at === span ? [`${named(span)} is an orphan`] : []
    if (seen.has(at)) return [`${named(span)} is below itself`]
    seen.add(at)
  }
  return []
}

function linkFaults(span: SpanJson, byId: ReadonlyMap<string, SpanJson>): string[] {
  return (span.links ?? []).flatMap((link) => {
    const here = byId.get(link.spanId ?? '')
    if (here === undefined) return []
    if (here.traceId !== link.traceId) return [`${named(span)} links to another trace's ${named(here)}`]
    if (!span.parentSpanId) return [`${named(span)} is the root and links to ${named(here)} in its own trace`]
    return link.spanId === span.parentSpanId ? [`${named(span)} links to its own parent`] : []
  })
}

/** The same for the shape that Jaeger's page reads, in which parents and links are both references. */
export function legacyFaults({ traceID, spans }: LegacyTrace, rootId: string): string[] {
  const ids = new Set(spans.map(({ spanID }) => spanID))
  return spans.flatMap((span) => {
    const isRoot = span.spanID === rootId
    const [first] = span.references
    const hasParent = first?.refType === 'CHILD_OF' && first.traceID === traceID && ids.has(first.spanID)
    const strays = span.references
      .slice(isRoot ? 0 : 1)
      .filter((other) => ids.has(other.spanID) && (isRoot || other.traceID !== traceID))
    const name = `${span.operationName} ${span.spanID}`
    return [
      ...(isRoot || hasParent ? [] : [`${name} does not begin with a reference to its parent`]),
      ...strays.map((stray) => `${name} refers to ${stray.traceID}, but the page finds ${stray.spanID} here`),
    ]
  })
}

function named({ name = '', spanId }: SpanJson): string {
  return `${name} ${spanId}`
}
