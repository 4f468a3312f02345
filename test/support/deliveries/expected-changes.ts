import { type SentSpan, traceOf } from '../sent-spans.ts'
import type { DrawnSpan } from './drawn-cascade.ts'
import type { Known } from './expected-places.ts'

/*
 * What there is besides received spans in the modes `links` and `passthrough` (docs/linking.md, rule 9), whatever came in which order:
 *
 * 1. Every CPID of a span or of a mergelog, sources included, has a trace, and its change span is the only one without a parent there.
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
  const at = changesAt(sent)
  const links = (spans: readonly SentSpan[], from: (span: SentSpan) => string): string[] =>
    spans.flatMap((span) => linkedBy(span, at).map((to) => `${from(span)} to ${to}`)).sort()
  const named = (name: string): SentSpan[] => synthetic.filter((span) => span.name === name)
  return {
    changes: changes.map(cpidOf).sort(),
    toSources: links([...changes, ...named('merged from')], cpidOf),
    fromSources: links(named('merged into'), cpidOf),
    besides: synthetic
      .filter((span) => span.traceId !== traceOf(cpidOf(span)) || !NAMES.includes(span.name))
      .map(({ name, traceId }) => `${name} in ${traceId}`),
  }
}

const NAMES = ['change', 'merge', 'merged from', 'merged into']

const isSynthetic = ({ attributes }: SentSpan): boolean => attributes['cpid.synthetic'] === true
const cpidOf = ({ attributes }: SentSpan): string => textOf(attributes['cpid.id']) ?? 'none'
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const placeOf = ({ traceId, spanId }: { traceId: string; spanId: string }): string => `${traceId} ${spanId}`

/** The CPIDs of changes, by where these are. */
function changesAt(sent: readonly SentSpan[]): Map<string, string> {
  const changes = sent.filter((span) => isSynthetic(span) && span.parentSpanId === '')
  return new Map(changes.map((span) => [placeOf(span), cpidOf(span)]))
}

const linkedBy = ({ links }: SentSpan, at: ReadonlyMap<string, string>): string[] =>
  links.map((link) => at.get(placeOf(link)) ?? 'nothing')

/** Spans in their original traces that say what they must not of their CPID and its roots, or link to what they must not. */
export function misledInPlace(sent: readonly SentSpan[], before: Known, all: Known): SentSpan[] {
  const at = changesAt(sent)
  return sent.filter((span) => {
    const drawn = all.spans.get(Number.parseInt(span.spanId, 16))
    if (isSynthetic(span) || drawn === undefined) return false
    const cpid = textOf(span.attributes['cpid.id'])
    const said = span.attributes['cpid.roots']
    const roots = Array.isArray(said) ? said.map(String) : []
    const linked = cpid === undefined ? [] : [cpid, ...roots]
    return !isSame(linkedBy(span, at), linked) || !maySay(drawn, { cpid, roots }, before, all)
  })
}

function maySay(
  span: DrawnSpan,
  { cpid, roots }: { cpid: string | undefined; roots: readonly string[] },
  before: Known,
  all: Known,
): boolean {
  const isByTime = before.spans.has(span.id)
  if (cpid !== (isByTime ? before : all).cpidOf(span))
    return cpid === undefined && roots.length === 0 && all.isBelowAwaited(span, before)
  if (cpid === undefined) return roots.length === 0
  if (isByTime || all.isAsBefore(cpid, before)) return isSame(roots, [...before.rootsOf(cpid)])
  const allowed = all.rootsInBetween(cpid, before)
  return roots.length > 0 && roots.every((root) => allowed.includes(root))
}

/** Without one twice. */
function isSame(some: readonly string[], others: readonly string[]): boolean {
  const wanted = new Set(others)
  return (
    some.length === wanted.size && new Set(some).size === wanted.size && some.every((one) => wanted.has(one))
  )
}
