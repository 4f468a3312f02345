import { type SentSpan, traceOf } from '../sent-spans.ts'
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

/** What spans in their original traces say of their CPID and its roots, and link to, that they must not. */
export function misledInPlace(sent: readonly SentSpan[], before: Known, all: Known): unknown[] {
  const changes = sent.filter((span) => isSynthetic(span) && span.parentSpanId === '')
  const at = new Map(changes.map((span) => [placeOf(span), cpidOf(span)]))
  return sent
    .filter((span) => !isSynthetic(span))
    .filter((span) => {
      const said = saidBy(span)
      const linked = span.links.map((link) => at.get(placeOf(link)) ?? 'nothing')
      const drawn = all.spans.get(Number.parseInt(span.spanId, 16))
      if (drawn === undefined || !isSame(linked, said.cpid === undefined ? [] : [said.cpid, ...said.roots]))
        return true
      const isByTime = before.spans.has(drawn.id)
      const cpid = (isByTime ? before : all).cpidOf(drawn)
      if (said.cpid === undefined && !isByTime && all.isBelowAwaited(drawn, before))
        return said.roots.length > 0
      if (said.cpid !== cpid || cpid === undefined) return said.cpid !== cpid || said.roots.length > 0
      if (isByTime || all.isAsBefore(cpid, before)) return !isSame(said.roots, [...before.rootsOf(cpid)])
      const allowed = all.rootsInBetween(cpid, before)
      return said.roots.length === 0 || said.roots.some((root) => !allowed.includes(root))
    })
}

function saidBy({ attributes }: SentSpan): { cpid: string | undefined; roots: string[] } {
  const { 'cpid.id': cpid, 'cpid.roots': roots } = attributes
  return {
    cpid: cpid === undefined ? undefined : String(cpid),
    roots: Array.isArray(roots) ? roots.map(String) : [],
  }
}

const isSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === new Set(some).size &&
  JSON.stringify([...some].sort()) === JSON.stringify([...new Set(others)].sort())
