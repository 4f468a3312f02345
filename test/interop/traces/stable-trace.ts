import {
  attribute,
  type AnyValueJson,
  type AttributeJson,
  type PlacedSpan,
  type TracesJson,
} from './otlp-json.ts'
import { StableNames } from './stable-names.ts'

const JAEGER_WARNINGS = '@jaeger@warnings'
/** What is no part of the span itself. */
const PLACE = new Set(['resource', 'scope', 'schemaUrls', 'service'])
/** Attributes whose value is another one every time. */
const UNSTABLE: Readonly<Record<string, string>> = {
  'cpid.time': 'time',
  'cpid.cascade.duration_ms': 'milliseconds',
  'telemetry.sdk.version': 'version',
}

/**
 * The same trace with every id, time and name that is another one every time replaced by one that is not, its spans
 * from the root down and siblings by service, name and start. Two runs of one story give the same.
 */
export function stableTrace(spans: readonly PlacedSpan[]): TracesJson {
  const ordered = topDown(spans)
  const names = new StableNames(cpidsIn(ordered))
  const resourceSpans = [...Map.groupBy(ordered, ({ service }) => service).values()].map((ofService) => ({
    resource: stable(ofService[0]?.resource, names),
    scopeSpans: [...Map.groupBy(ofService, ({ scope }) => scope.name).values()].map((ofScope) => ({
      scope: ofScope[0]?.scope,
      spans: ofScope.map((span) => stable(withoutPlace(span), names)),
    })),
  }))
  return { resourceSpans } as TracesJson
}

function withoutPlace(span: PlacedSpan): object {
  return Object.fromEntries(Object.entries(span).filter(([key]) => !PLACE.has(key)))
}

function topDown(spans: readonly PlacedSpan[]): PlacedSpan[] {
  const children = Map.groupBy(spans, ({ parentSpanId = '' }) => parentSpanId)
  const ordered: PlacedSpan[] = []
  const stack = [...(children.get('') ?? [])]
  for (let span = stack.pop(); span !== undefined; span = stack.pop()) {
    ordered.push(span)
    stack.push(...(children.get(span.spanId) ?? []).sort(bySiblingOrder).reverse())
  }
  return ordered
}

/** Siblings of one name come from one process, one after the other, so that their start orders them. */
function bySiblingOrder(a: PlacedSpan, b: PlacedSpan): number {
  const [keyA, keyB] = [a, b].map(({ service, name = '', startTimeUnixNano = '' }) => {
    return [service, name, startTimeUnixNano.padStart(20, '0')].join('\0')
  })
  return (keyA ?? '') < (keyB ?? '') ? -1 : 1
}

/** The CPIDs of spans and of what they link to. */
function cpidsIn(spans: readonly PlacedSpan[]): Set<string> {
  const carriers = [...spans, ...spans.flatMap(({ links = [] }) => links)]
  return new Set(carriers.flatMap((carrier) => attribute(carrier, 'cpid.id')?.stringValue ?? []))
}

function stable(value: unknown, names: StableNames): unknown {
  if (typeof value === 'string') return names.inText(value)
  if (Array.isArray(value)) return value.map((one) => stable(one, names))
  if (typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(record).map(([key, one]) => {
      switch (key) {
        case 'spanId':
        case 'parentSpanId':
          return [key, names.ofSpan(String(one))]
        case 'startTimeUnixNano':
          return [key, 'start']
        case 'endTimeUnixNano':
          return [key, endOf(record['startTimeUnixNano'], one)]
        case 'attributes':
          return [key, stableAttributes(one as AttributeJson[], names)]
        default:
          return [key, stable(one, names)]
      }
    }),
  )
}

/** Jaeger lengthens a span of no length by a nanosecond. */
function endOf(start: unknown, end: unknown): string {
  const length = BigInt(String(end)) - BigInt(String(start))
  return length <= 1n ? `start + ${length} ns` : 'end'
}

function stableAttributes(attributes: readonly AttributeJson[], names: StableNames): unknown[] {
  return attributes
    .filter(({ key }) => key !== JAEGER_WARNINGS)
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key, value = {} }) => ({ key, value: stableValue(key, value, names) }))
}

function stableValue(key: string, value: AnyValueJson, names: StableNames): unknown {
  const constant = UNSTABLE[key]
  if (constant !== undefined) return Object.fromEntries(Object.keys(value).map((kind) => [kind, constant]))
  if (key !== 'cpid.sources') return stable(value, names)
  // A set, which Causeway writes in the order of its ids.
  const sources = value.arrayValue?.values?.map(({ stringValue = '' }) => names.inText(stringValue)) ?? []
  return { arrayValue: { values: sources.sort().map((stringValue) => ({ stringValue })) } }
}
