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
/** So many objects that are left out are counted by name: some 10 MB. */
const MOST_COUNTED = 100_000

type Deed = (typeof OBJECT_DEEDS)[number]

type Spans = Pick<CausewayQueries, 'tracesOf' | 'linkedSpans'>

/** The objects that a cascade wrote, with what owns them, and what it did to each. Spans are read a trace at a time, and not kept. */
export function* touchedObjectsJson(queries: Spans, facts: CascadeFacts, limit: number): Generator<string> {
  const { root } = facts
  let touched = yield* touchedBy(queries, root, new Touched(limit, facts))
  // Those that failed after the limit was reached had writes before, which only a second reading shows.
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

/** Spans above a write, of the same controller, that are looked at for what was read for it. */
const LEVELS_ABOVE = 8

/** What was read for a write: what its span observed, or else the one above it of the same controller, such as a reconcile. */
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
  /** What was read for a write of it, after which it is called. */
  namesake: string | undefined
  readonly deeds: Set<Deed>
  failed: number
  supersededBy: Cpid | undefined
  writeCount: number
  readonly writes: ObjectWrite[]
}

class Touched {
  readonly #limit: number
  /** Those that are shown whatever comes before them. */
  readonly #first: ReadonlySet<string>
  /** For how many others there is room. */
  #room: number
  readonly #facts: CascadeFacts
  readonly #objects = new Map<string, Gathered>()
  /** Spans that were added: one may stand in several traces. */
  readonly #rows = new Set<number>()
  /** Objects beyond the limit, as many as are counted. */
  readonly #leftOut = new Set<string>()
  /** The first that failed, shown or not. */
  readonly #failed = new Set<string>()

  constructor(limit: number, facts: CascadeFacts, failed: readonly string[] = []) {
    this.#limit = limit
    this.#first = new Set(failed)
    this.#room = limit - this.#first.size
    this.#facts = facts
    // Whoever began the change wrote this, which need not have a span.
    if (facts.object !== undefined) this.#of(facts.object)?.deeds.add('changed')
  }

  get leftOut(): number {
    return this.#leftOut.size
  }

  get failed(): readonly string[] {
    return [...this.#failed]
  }

  /** Whether there is one that failed and is not shown, though there is room for it. */
  get lacksFailed(): boolean {
    return this.failed.some((object) => !this.#objects.has(object))
  }

  /** Skips spans that another change drives. */
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
    // Spans come in the order in which they were linked: the one that made it may not be the first.
    object.namesake ??= namesakeOf(object.object, read)
    // What it began with is known better now.
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

  /** What owns an object that is shown is shown, though the limit is reached: there are no more of those. */
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

  /** Owners before what they own, else in the order in which they were touched. Of a loop of owners one link is left out. */
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
 * What a write did, by the name of its span: Causeway's own are called so, and those of many controllers. A command is called after its
 * program (`kubectl delete`); where the API server told it no version of an object, that is gone.
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

/** Of what was read, the object after which one is called: `web-7d9f` of `web`, the longest such name. */
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
