import { STATUS_ERROR } from '../model/arrivals.ts'
import { namespaceOfObject, objectOfReference, parseObjectReference } from '../model/kubernetes-objects.ts'
import type { Cpid } from '../model/merge-graph.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import type { CascadeFacts, CausewayQueries, LinkedSpan } from '../model/queries.ts'
import { millis } from '../model/time-and-size.ts'
import { OBJECT_DEEDS, type ObjectWrite, type TouchedObject } from './object-answer-schemas.ts'

/** How many of the first writes of an object are listed, and how many of the last. */
const AT_EACH_END = 8
const AT_ONCE = 100
/** The most objects beyond the limit that are counted. Their names take some 10 MB. */
const MOST_COUNTED = 100_000

type Deed = (typeof OBJECT_DEEDS)[number]

type Spans = Pick<CausewayQueries, 'tracesOf' | 'linkedSpans'>

/** The objects that a cascade wrote, with their owners and what it did to each. Spans are read trace by trace, and not kept. */
export function* touchedObjectsJson(queries: Spans, facts: CascadeFacts, limit: number): Generator<string> {
  const { root } = facts
  let touched = yield* touchedBy(queries, root, new Touched(limit, facts))
  // Objects that failed after the limit was reached may have earlier writes, which were skipped. A second pass reads them.
  if (touched.lacksFailed)
    touched = yield* touchedBy(queries, root, new Touched(limit, facts, touched.failed))
  const objects = touched.inOrder()
  const { leftOut } = touched
  yield `{"root":"${root}","truncated":${leftOut > 0},"leftOut":${leftOut},"objects":[`
  for (let at = 0; at < objects.length; at += AT_ONCE) {
    const texts = objects.slice(at, at + AT_ONCE).map((one) => JSON.stringify(one satisfies TouchedObject))
    yield (at === 0 ? '' : ',') + texts.join(',')
  }
  yield ']}'
}

function* touchedBy(queries: Spans, root: Cpid, touched: Touched): Generator<string, Touched> {
  for (const { id } of queries.tracesOf(root)) {
    const spans = queries.linkedSpans(id)
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    for (const span of spans) touched.add(span, readFor(span, byId))
    yield ''
  }
  return touched
}

/** How many ancestor spans of the same controller are searched for the objects read for a write. */
const LEVELS_ABOVE = 8

/** The objects read for a write: those its span observed, or else the nearest ancestor span of the same controller. */
function readFor(span: LinkedSpan, byId: ReadonlyMap<bigint, LinkedSpan>): readonly string[] {
  let at: LinkedSpan | undefined = span
  for (let level = 0; at?.service === span.service && level < LEVELS_ABOVE; level++) {
    if (at.observed.length > 0) return at.observed
    at = byId.get(at.parentId)
  }
  return []
}

interface Gathered {
  readonly object: string
  owner: string | undefined
  /** An object read for one of its writes, whose name is the prefix of its own. */
  namesake: string | undefined
  readonly deeds: Set<Deed>
  failed: number
  supersededBy: Cpid | undefined
  writeCount: number
  readonly writes: ObjectWrite[]
}

class Touched {
  readonly #limit: number
  /** Objects that failed; they are shown even after the limit is reached. */
  readonly #first: ReadonlySet<string>
  /** How many other objects may still be added. */
  #room: number
  readonly #facts: CascadeFacts
  readonly #objects = new Map<string, Gathered>()
  /** Rows of spans that were added. A span may have copies in several traces. */
  readonly #rows = new Set<number>()
  /** Objects beyond the limit, up to MOST_COUNTED. */
  readonly #leftOut = new Set<string>()
  /** The first objects that failed, whether shown or not. */
  readonly #failed = new Set<string>()

  constructor(limit: number, facts: CascadeFacts, failed: readonly string[] = []) {
    this.#limit = limit
    this.#first = new Set(failed)
    this.#room = limit - this.#first.size
    this.#facts = facts
    // The object that the operator changed. Its write may have no span.
    if (facts.object !== undefined) this.#of(facts.object)?.deeds.add('changed')
  }

  get leftOut(): number {
    return this.#leftOut.size
  }

  get failed(): readonly string[] {
    return [...this.#failed]
  }

  /** Whether an object that failed is not shown. */
  get lacksFailed(): boolean {
    return this.failed.some((object) => !this.#objects.has(object))
  }

  /** Adds a span. If another change drives it, only marks the objects it observed as superseded. */
  add(span: LinkedSpan, read: readonly string[]): void {
    const { row, activity, wrote, observed, supersededBy, status } = span
    const names = wrote.length + observed.length > 0
    if (row === undefined || !activity || !names || this.#rows.has(row)) return
    this.#rows.add(row)
    if (supersededBy !== undefined) {
      for (const reference of observed) {
        const object = this.#of(reference)
        if (object !== undefined) object.supersededBy = supersededBy
      }
      return
    }
    for (const reference of wrote) this.#addWrite(span, reference, read)
    if (status !== STATUS_ERROR) return
    const [first] = observed
    for (const reference of wrote) this.#noteFailed(reference)
    if (wrote.length > 0 || first === undefined) return
    this.#noteFailed(first)
    const object = this.#of(first)
    if (object === undefined) return
    object.failed++
    object.deeds.add('failed')
  }

  #addWrite(span: LinkedSpan, reference: string, read: readonly string[]): void {
    const object = this.#of(reference)
    if (object === undefined) return
    const { owner, wrote } = span
    // Spans come in the order in which they were linked, so the write that created the object may not be the first.
    object.namesake ??= namesakeOf(object.object, read)
    // Replaces the assumption of the constructor by what the spans say.
    if (object.writeCount === 0) object.deeds.delete('changed')
    if (owner !== undefined && wrote.length === 1) object.owner = objectOfReference(owner)
    object.deeds.add(deedOf(span, reference))
    if (span.status === STATUS_ERROR) {
      object.failed++
      object.deeds.add('failed')
    }
    object.writeCount++
    object.writes.push(writeJson(span, reference, this.#facts))
    if (object.writes.length > 2 * AT_EACH_END) object.writes.splice(AT_EACH_END, 1)
  }

  #noteFailed(reference: string): void {
    if (this.#failed.size < this.#limit) this.#failed.add(objectOfReference(reference))
  }

  #of(reference: string): Gathered | undefined {
    const object = objectOfReference(reference)
    const known = this.#objects.get(object)
    if (known !== undefined) return known
    if (this.#first.has(object) || this.#room-- > 0) return this.#make(object)
    if (this.#leftOut.size < MOST_COUNTED) this.#leftOut.add(object)
    return undefined
  }

  /** Adds the owner of an object that is shown, even beyond the limit: there are at most as many owners as objects. */
  #owner(reference: string): void {
    const object = objectOfReference(reference)
    if (this.#objects.has(object)) return
    this.#leftOut.delete(object)
    this.#make(object)
  }

  #make(object: string): Gathered {
    const made: Gathered = {
      ...{ object, owner: undefined, namesake: undefined, deeds: new Set(), failed: 0 },
      ...{ supersededBy: undefined, writeCount: 0, writes: [] },
    }
    this.#objects.set(object, made)
    return made
  }

  /** Owners come before their dependents; otherwise objects are in the order in which they were touched. A cycle of owners is broken. */
  inOrder(): TouchedObject[] {
    for (const { owner } of [...this.#objects.values()]) if (owner !== undefined) this.#owner(owner)
    const ordered = new Map<string, TouchedObject>()
    for (const first of this.#objects.values()) {
      const chain: Gathered[] = []
      const seen = new Set<Gathered>()
      for (let at: Gathered | undefined = first; at !== undefined && !ordered.has(at.object);) {
        if (seen.has(at)) break
        seen.add(at)
        chain.push(at)
        at = this.#objects.get(at.owner ?? at.namesake ?? '')
      }
      for (const one of chain.reverse()) ordered.set(one.object, touchedJson(one, ordered))
    }
    return [...ordered.values()]
  }
}

function touchedJson(
  { object, owner, namesake, deeds, failed, supersededBy, writeCount, writes }: Gathered,
  before: ReadonlyMap<string, unknown>,
): TouchedObject {
  const above = owner ?? namesake ?? ''
  const isThere = before.has(above)
  return {
    object,
    owner: isThere ? above : null,
    ownership: isThere ? (owner === undefined ? 'name' : 'told') : null,
    deeds: OBJECT_DEEDS.filter((deed) => deeds.has(deed)).filter(
      (deed) => deed !== 'status' || !(deeds.has('made') || deeds.has('changed')),
    ),
    failed,
    ...(supersededBy !== undefined && { supersededBy }),
    writeCount,
    writes,
  }
}

function writeJson(span: LinkedSpan, reference: string, { startNs }: CascadeFacts): ObjectWrite {
  const { version } = parseObjectReference(reference) ?? {}
  return {
    version: version === undefined ? null : String(version),
    offsetMs: millis(span.endNs - startNs),
    name: span.name,
    spanId: spanIdHex(span.spanId),
    service: span.service,
    ...(span.seen?.user !== undefined && { user: span.seen.user }),
    ...(span.seen !== undefined && { cause: span.seen.cause }),
    ...(span.status === STATUS_ERROR && { failed: true }),
    ...(span.changed !== undefined && { changed: [...span.changed] }),
  }
}

/**
 * What a write did, by the name of its span: this covers the spans that Causeway infers, and those of many controllers. The span of a
 * command has the name of its program first (`kubectl delete`); a delete returned no version of the object.
 */
function deedOf({ name, service }: LinkedSpan, reference: string): Deed {
  const isCommand = name.startsWith(`${service} `)
  const did = isCommand ? name.slice(service.length + 1) : name
  if (/^(?:create|POST)\b/i.test(did) || (isCommand && /^(?:expose|run)\b/.test(did))) return 'made'
  if (/^delete\b/i.test(did) || (isCommand && isWithoutVersion(reference))) return 'went'
  return /[ /]status$/.test(did) ? 'status' : 'changed'
}

function isWithoutVersion(reference: string): boolean {
  const { uid = '' } = parseObjectReference(reference) ?? {}
  return uid !== '' && !/[?&]rv=/.test(reference)
}

/** The object with the longest name among those read from which an object has its name, as `web-7d9f` has from `web`. */
function namesakeOf(object: string, observed: readonly string[]): string | undefined {
  const [namespace, name] = [namespaceOfObject(object), nameOf(object)]
  let found: string | undefined
  for (const reference of observed) {
    const other = objectOfReference(reference)
    if (other === object || namespaceOfObject(other) !== namespace) continue
    const isCalledSo = name === nameOf(other) || name.startsWith(`${nameOf(other)}-`)
    if (isCalledSo && nameOf(other).length > (found === undefined ? 0 : nameOf(found).length)) found = other
  }
  return found
}

function nameOf(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1)
}
