import type { Replacement, Told, ToldSpan } from './told.ts'
import type { Origins } from './knowing.ts'

/** Of each span, by its id, which of the changes it is said to belong to: their places in the order of beginning. */
export type Attribution = ReadonlyMap<string, ReadonlySet<number>>

/** By the merge graph: a span belongs to the changes that its CPID descends from. */
export function claimsByGraph({ roots, spans, merges }: Told): Attribution {
  const next = new Map<string, string[]>()
  for (const { cpid, sources } of merges) for (const source of sources) listIn(next, source).push(cpid)
  return claims(roots, spans, (root) => {
    const related = new Set([root])
    for (const cpid of related) for (const merged of next.get(cpid) ?? []) related.add(merged)
    return (span) => related.has(span.cpid)
  })
}

/**
 * By the replacement logs: a span belongs to a change when its CPID replaced that of the change, directly or through
 * others; with times, only from when it did.
 */
export function claimsByReplacements(
  { roots, spans, replacements }: Told,
  { withTimes }: { withTimes: boolean },
): Attribution {
  const next = new Map<string, Replacement[]>()
  for (const replacement of replacements) listIn(next, replacement.old).push(replacement)
  return claims(roots, spans, (root) => {
    if (!withTimes) return everRelated(root, next)
    const since = new Map([[root, -Infinity]])
    const open = [root]
    for (let cpid = open.pop(); cpid !== undefined; cpid = open.pop()) {
      const from = since.get(cpid) ?? Infinity
      for (const { kept, atMs } of next.get(cpid) ?? []) {
        if (atMs < from || atMs >= (since.get(kept) ?? Infinity)) continue
        since.set(kept, atMs)
        open.push(kept)
      }
    }
    return (span) => span.endMs >= (since.get(span.cpid) ?? Infinity)
  })
}

/** By what is known to be true. */
export function claimsByOrigins({ roots, spans }: Told, origins: Origins): Attribution {
  return claims(roots, spans, (root) => (span) => origins.get(span.cpid)?.has(root) ?? false)
}

function everRelated(
  root: string,
  next: ReadonlyMap<string, readonly Replacement[]>,
): (span: ToldSpan) => boolean {
  const related = new Set([root])
  for (const cpid of related) for (const { kept } of next.get(cpid) ?? []) related.add(kept)
  return (span) => related.has(span.cpid)
}

function claims(
  roots: readonly string[],
  spans: readonly ToldSpan[],
  belongsTo: (root: string) => (span: ToldSpan) => boolean,
): Attribution {
  const found = new Map(spans.map(({ id }) => [id, new Set<number>()]))
  for (const [place, root] of roots.entries()) {
    const belongs = belongsTo(root)
    for (const span of spans) if (belongs(span)) found.get(span.id)?.add(place)
  }
  return found
}

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  let list = lists.get(key)
  if (list === undefined) lists.set(key, (list = []))
  return list
}
