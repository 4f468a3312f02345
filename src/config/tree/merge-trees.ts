import { isMap, type RawMap, type RawNode } from './raw-node.ts'

/** Lays one tree over another: maps merge key by key; lists, plain values and a bare key replace what was there. */
export function mergeTrees(under: RawMap, over: RawMap): RawMap {
  const merged = new Map(Object.entries(under))
  for (const [key, node] of Object.entries(over)) merged.set(key, mergeNodes(merged.get(key), node))
  return Object.fromEntries(merged)
}

function mergeNodes(under: RawNode | undefined, over: RawNode): RawNode {
  return isMap(under) && isMap(over) ? mergeTrees(under, over) : over
}

/** A key of more parts than this is no path; it stays whole, for whoever reads it to refuse. */
const MAX_PARTS = 100

/** A value, and the key it stands under, taken apart. */
interface Entry {
  readonly parts: readonly string[]
  readonly node: RawNode
}

/** The tree that keys such as `a::b::c` at the top stand for; later ones are laid over earlier ones. */
export function splitKeys(tree: RawMap): RawMap {
  const entries = Object.entries(tree).map(([key, node]): Entry => {
    const parts = key.split('::')
    return { parts: parts.length > MAX_PARTS ? [key] : parts, node }
  })
  return treeOf(entries, 0)
}

/** Every entry is gone through once a level, however many there are. */
function treeOf(entries: readonly Entry[], level: number): RawMap {
  const groups = new Map<string, Entry[]>()
  for (const entry of entries) {
    const head = entry.parts[level] ?? ''
    const group = groups.get(head)
    if (group === undefined) groups.set(head, [entry])
    else group.push(entry)
  }
  return Object.fromEntries([...groups].map(([head, group]) => [head, nodeOf(group, level + 1)]))
}

function nodeOf(group: readonly Entry[], level: number): RawNode {
  const whole = group.findIndex(({ parts }) => parts.length === level)
  const laidUnder = group.slice(0, Math.max(0, whole))
  const laidOver = group.slice(whole + 1)
  const layers: RawNode[] = laidUnder.length === 0 ? [] : [treeOf(laidUnder, level)]
  if (whole >= 0) layers.push(group[whole]?.node ?? null)
  if (laidOver.length > 0) layers.push(treeOf(laidOver, level))
  return layers.reduce((under, over) => mergeNodes(under, over))
}
