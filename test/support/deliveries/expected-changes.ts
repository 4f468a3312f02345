import { hexSpan } from '../otlp-requests.ts'
import { type SentSpan, traceOf } from '../sent-spans.ts'
import type { Known } from './expected-places.ts'

/*
 * What there is besides received spans in the modes `links` and `passthrough` (docs/linking.md, rule 9), whatever came in which order:
 *
 * 1. Every CPID of a mergelog or of a span has a trace, and its change span is the only one without a parent there.
 * 2. The change of a mergelog links to that of each of its sources, in a `merged from` span where the mergelog came after
 *    the change had been sent. A `merged into` span in the source's trace links back. No link leads nowhere.
 * 3. In `passthrough` a span of a CPID says which roots that has, and links to the changes of these and of the CPID. What came
 *    by time knows the roots by what came by time.
 */

/** By CPIDs, each sorted. */
interface Changes {
  readonly changes: readonly string[]
  readonly toSources: readonly string[]
  readonly fromSources: readonly string[]
  /** Spans that Causeway made of which the rules know nothing, and links to what is not there. */
  readonly besides: readonly string[]
}

export function expectedChanges(known: Known): Changes {
  const cpids = [...cpidsOf(known)]
  const merged = [...known.mergelogs.values()].flatMap(({ cpid, sources }) =>
    sources.map((source) => ({ cpid, source })),
  )
  return {
    changes: cpids.sort(),
    toSources: merged.map(({ cpid, source }) => `${cpid} to ${source}`).sort(),
    fromSources: merged.map(({ cpid, source }) => `${source} to ${cpid}`).sort(),
    besides: [],
  }
}

function cpidsOf(known: Known): Set<string> {
  const ofSpans = [...known.spans.values()].flatMap((span) => known.cpidOf(span) ?? [])
  const ofMergelogs = [...known.mergelogs.values()].flatMap(({ cpid, sources }) => [cpid, ...sources])
  return new Set([...ofSpans, ...ofMergelogs])
}

export function heldChanges(sent: readonly SentSpan[]): Changes {
  const synthetic = sent.filter(isSynthetic)
  const changes = synthetic.filter(({ parentSpanId }) => parentSpanId === '')
  const at = new Map(changes.map((span) => [placeOf(span), cpidOf(span)]))
  const links = (spans: readonly SentSpan[], from: (span: SentSpan) => string): string[] =>
    spans
      .flatMap((span) => span.links.map((link) => `${from(span)} to ${at.get(placeOf(link)) ?? 'nothing'}`))
      .sort()
  const named = (name: string): SentSpan[] => synthetic.filter((span) => span.name === name)
  const inTrace = ({ traceId }: SentSpan): string =>
    cpidOf(changes.find((change) => change.traceId === traceId)) ?? 'nothing'
  return {
    changes: changes.filter(isInOwnTrace).map(cpidOf).sort(),
    toSources: links([...changes, ...named('merged from')], cpidOf),
    fromSources: links(named('merged into'), inTrace),
    besides: synthetic
      .filter((span) => !isInOwnTrace(span) || !NAMES.some((name) => span.name === name))
      .map(({ name, traceId }) => `${name} in ${traceId}`),
  }
}

const NAMES = ['change', 'merge', 'merged from', 'merged into']

const isSynthetic = ({ attributes }: SentSpan): boolean => attributes['cpid.synthetic'] === true
const cpidOf = (span: SentSpan | undefined): string => String(span?.attributes['cpid.id'])
const placeOf = ({ traceId, spanId }: { traceId: string; spanId: string }): string => `${traceId} ${spanId}`
const isInOwnTrace = (span: SentSpan): boolean => span.traceId === traceOf(cpidOf(span))

/** What a span says that stays in its trace: the roots of its CPID, and the changes that it links to. */
export interface InPlace {
  readonly span: string
  readonly cpid: string
  readonly roots: readonly string[]
  readonly links: readonly string[]
}

export function heldInPlace(sent: readonly SentSpan[]): InPlace[] {
  const changes = sent.filter((span) => isSynthetic(span) && span.parentSpanId === '')
  const at = new Map(changes.map((span) => [placeOf(span), cpidOf(span)]))
  const received = sent.filter((span) => !isSynthetic(span))
  return received.map((span) => ({
    span: span.spanId,
    cpid: cpidOf(span),
    roots: [...((span.attributes['cpid.roots'] as string[] | undefined) ?? [])].sort(),
    links: span.links.map((link) => at.get(placeOf(link)) ?? 'nothing').sort(),
  }))
}

/** What spans that came by time say, and those that came late if nothing that came late has to do with them. */
export function expectedInPlace(before: Known, all: Known): InPlace[] {
  return [...all.spans.values()].flatMap((span) => {
    const isByTime = before.spans.has(span.id)
    const cpid = (isByTime ? before : all).cpidOf(span)
    if (!isByTime && (all.isBelowAwaited(span, before) || !isAsBefore(cpid, before, all))) return []
    const roots = cpid === undefined ? [] : [...before.rootsOf(cpid)].sort()
    const links = cpid === undefined ? [] : [...new Set([cpid, ...roots])].sort()
    return [{ span: hexSpan(span.id), cpid: String(cpid), roots, links }]
  })
}

function isAsBefore(cpid: string | undefined, before: Known, all: Known): boolean {
  const above = cpid === undefined ? [] : [...all.ancestorsOf(cpid)]
  return above.every((one) => before.mergelogs.has(one) === all.mergelogs.has(one))
}
