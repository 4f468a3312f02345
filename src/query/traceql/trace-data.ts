import type { Static } from './syntax.ts'
import { booleanOf, floatOf, intOf, NIL, stringOf } from './static-values.ts'

type Column = 'string' | 'int' | 'float' | 'boolean'

/** An attribute as it was sent. Values of types that TraceQL does not have are left out. */
export interface StoredAttribute {
  readonly key: string
  readonly column: Column | 'other'
  readonly values: readonly (string | bigint | number | boolean)[]
  /** Whether the value was sent as a list; it may have one element. */
  readonly isList?: boolean
}

export interface StoredEvent {
  readonly name: string
  readonly sinceStartNs: bigint
  readonly attributes: readonly StoredAttribute[]
}

export interface StoredLink {
  /** The trace id in hex. */
  readonly traceId: string
  readonly spanId: string
  readonly attributes: readonly StoredAttribute[]
}

/** A resource and scope, which many spans share. */
export interface StoredScope {
  /** The size of the stored resource and scope in bytes. */
  readonly bytes: number
  readonly resourceId: number
  /** `service.name`, if it is a string. */
  readonly service: string
  readonly resource: readonly StoredAttribute[]
  readonly name: string
  readonly version: string
  readonly attributes: readonly StoredAttribute[]
}

export interface StoredSpan {
  /** The span id, 16 hex digits. */
  readonly spanId: string
  /** Empty for a root. */
  readonly parentId: string
  readonly name: string
  /** The kind as OTLP numbers it. */
  readonly kind: number
  readonly status: number
  readonly statusMessage: string
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: readonly StoredAttribute[]
  readonly events: readonly StoredEvent[]
  readonly links: readonly StoredLink[]
  readonly scope: StoredScope
}

/** The spans of a trace that have been sent so far. */
export interface StoredTrace {
  /** The trace id, 32 hex digits. */
  readonly traceId: string
  readonly spans: readonly StoredSpan[]
}

/** A TraceQL value from one stored value. */
export function staticOf(column: Column, value: string | bigint | number | boolean): Static {
  switch (column) {
    case 'string':
      return stringOf(String(value))
    case 'int':
      return intOf(BigInt(value))
    case 'float':
      return floatOf(Number(value))
    case 'boolean':
      return booleanOf(value === true)
  }
}

const LISTS = { string: 'strings', int: 'ints', float: 'floats', boolean: 'booleans' } as const

/** A TraceQL value from stored values: a single one, a list, or nil if there are none. */
export function staticOfValues(
  column: StoredAttribute['column'],
  values: readonly (string | bigint | number | boolean)[],
): Static {
  const [first] = values
  if (first === undefined || column === 'other') return NIL
  if (values.length === 1) return staticOf(column, first)
  return { type: LISTS[column], value: values } as Static
}

/** The nested set numbers of a span: those of its descendants are between `left` and `right`. All 0 if not in the tree. */
export interface Place {
  readonly left: number
  readonly right: number
  /** `left` of its parent; -1 for a root. */
  readonly parent: number
  readonly children: number
}

const NOWHERE: Place = { left: 0, right: 0, parent: 0, children: 0 }

interface Node {
  readonly span: StoredSpan
  readonly children: Node[]
  place: { -readonly [Key in keyof Place]: Place[Key] }
}

const SERVER = 2
const CLIENT = 3

/** The positions of the spans of a trace. Two spans may share an id, as client and server do. If three do, no span has a position. */
export function placesOf(spans: readonly StoredSpan[]): Map<StoredSpan, Place> {
  const nodes = spans.map((span): Node => ({ span, children: [], place: { ...NOWHERE } }))
  const byId = Map.groupBy(nodes, ({ span }) => span.spanId)
  const roots = nodes.filter(({ span }) => span.parentId === '')
  const isBroken = [...byId.values()].some((same) => same.length > 2)
  if (roots.length > 0 && !isBroken) {
    for (const node of nodes) parentOf(node, byId)?.children.push(node)
    for (const node of nodes) node.place.children = node.children.length
    number(roots)
  }
  return new Map(nodes.map(({ span, place }) => [span, place]))
}

function parentOf({ span }: Node, byId: ReadonlyMap<string, Node[]>): Node | undefined {
  if (span.parentId === '') return undefined
  const found = byId.get(span.parentId) ?? []
  if (found.length < 2) return found[0]
  const wanted = span.kind === SERVER ? CLIENT : SERVER
  return found.find((one) => one.span.kind === wanted)
}

/** Assigns nested set numbers to each tree. */
function number(roots: readonly Node[]): void {
  let next = 1
  for (const root of roots) {
    const way: { node: Node; at: number }[] = [{ node: root, at: 0 }]
    root.place.left = next++
    root.place.parent = -1
    for (let here = way.at(-1); here !== undefined; here = way.at(-1)) {
      const child = here.node.children[here.at++]
      if (child === undefined) {
        here.node.place.right = next++
        way.pop()
      } else {
        child.place.left = next++
        child.place.parent = here.node.place.left
        way.push({ node: child, at: 0 })
      }
    }
  }
}
