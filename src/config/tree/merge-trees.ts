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

/** The tree that a key such as `a::b::c` at the top stands for. */
export function splitKeys(tree: RawMap): RawMap {
  return Object.entries(tree).reduce<RawMap>((whole, [key, node]) => mergeTrees(whole, nest(key, node)), {})
}

function nest(key: string, node: RawNode): RawMap {
  const [head = '', ...rest] = key.split('::')
  return Object.fromEntries([[head, rest.length === 0 ? node : nest(rest.join('::'), node)]])
}
