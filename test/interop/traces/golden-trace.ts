import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import { attribute, byKey, type PlacedSpan, type TracesJson } from './otlp-json.ts'

/** What Jaeger adds. */
const JAEGER_WARNINGS = '@jaeger@warnings'
/** Changes with the SDK, which says nothing about Causeway. */
const SDK_VERSION = 'telemetry.sdk.version'
/** What is no part of the span itself. */
const PLACE = new Set(['resource', 'scope', 'schemaUrls', 'service'])

/** A trace as a golden file has it: spans from the root down, siblings by start, attributes by key. */
export function goldenTrace(spans: readonly PlacedSpan[]): TracesJson {
  const ordered = topDown(spans)
  const resourceSpans = [...Map.groupBy(ordered, ({ service }) => service).values()].map((ofService) => ({
    resource: { attributes: inOrder(ofService[0]?.resource.attributes) },
    scopeSpans: [...Map.groupBy(ofService, ({ scope }) => scope.name).values()].map((ofScope) => ({
      scope: ofScope[0]?.scope ?? {},
      spans: ofScope.map(withoutPlace),
    })),
  }))
  return { resourceSpans }
}

function withoutPlace(span: PlacedSpan) {
  const entries = Object.entries({ ...span, attributes: inOrder(span.attributes) })
  return Object.fromEntries(entries.filter(([key]) => !PLACE.has(key))) as Omit<PlacedSpan, 'service'>
}

function topDown(spans: readonly PlacedSpan[]): PlacedSpan[] {
  const children = Map.groupBy(spans, ({ parentSpanId = '' }) => parentSpanId)
  const ordered: PlacedSpan[] = []
  const stack = [...(children.get('') ?? [])]
  for (let span = stack.pop(); span !== undefined; span = stack.pop()) {
    ordered.push(span)
    stack.push(...(children.get(span.spanId) ?? []).toSorted(byStart).reverse())
  }
  return ordered
}

function byStart(one: PlacedSpan, other: PlacedSpan): number {
  const [key, otherKey] = [one, other].map(({ startTimeUnixNano = '', spanId }) => {
    return startTimeUnixNano.padStart(20, '0') + spanId
  })
  return (key ?? '') < (otherKey ?? '') ? -1 : 1
}

function inOrder(attributes: readonly OtlpJson<'KeyValue'>[] = []): OtlpJson<'KeyValue'>[] {
  return attributes.filter(({ key }) => key !== JAEGER_WARNINGS && key !== SDK_VERSION).toSorted(byKey)
}

/** How a span hangs below the root, from the root down: the services on the way, each named once where it goes on. */
export function servicesAbove(span: PlacedSpan, spans: readonly PlacedSpan[]): string[] {
  const byId = new Map(spans.map((one) => [one.spanId, one]))
  const services: string[] = []
  for (let at: PlacedSpan | undefined = span; at !== undefined; at = byId.get(at.parentSpanId ?? '')) {
    if (services[0] !== at.service) services.unshift(at.service)
  }
  return services
}

/** The CPID that a span names. */
export function cpidOf(span: PlacedSpan): string | undefined {
  return attribute(span, 'cpid.id')?.stringValue
}
