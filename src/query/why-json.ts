import { objectOfReference } from '../model/kubernetes-objects.ts'
import type { Cpid } from '../model/merge-graph.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import type { CausewayQueries, ObjectVersionFacts } from '../model/queries.ts'
import { rfc3339, type UnixNanos } from '../model/time-and-size.ts'
import type { CascadeOutline } from './answer-schemas.ts'
import type { Why, WhyVersion } from './object-answer-schemas.ts'
import { cascadeOutline } from './cascade-json.ts'
import { seenJson } from './object-json.ts'

/** The most writes that are followed back, and the most changes in the answer. */
const MOST_VERSIONS = 100
const MOST_CHANGES = 50
/** How many versions of an object are searched, for the version to explain or for superseded ones. */
const LOOKED_THROUGH = 50

type Queries = Pick<CausewayQueries, 'objectVersions' | 'objects' | 'cascade'>

/** Explains why an object is as it is: the writes that led to it, back to those that began a change. Each step reads one version. */
export function* whyJson(queries: Queries, reference: string): Generator<string> {
  const chain = new Chain(queries)
  const looked = yield* newestOf(queries, reference)
  const explained = looked.find(({ name }) => !/[ /]status$/.test(name)) ?? looked[0]
  if (explained === undefined) chain.addChangesOf(yield* newestMention(queries, reference))
  else {
    chain.add(explained)
    yield* chain.follow()
    chain.addSuperseded(looked)
  }
  const newer = explained === undefined ? 0 : looked.indexOf(explained)
  yield JSON.stringify({ ...chain.answer, ...(newer > 0 && { newerStatuses: newer }) } satisfies Why)
}

/** The newest versions of an object, the highest first. If the reference matches several objects, those of the first. */
function* newestOf(queries: Queries, reference: string): Generator<string, ObjectVersionFacts[]> {
  const found: ObjectVersionFacts[] = []
  for (const page of queries.objectVersions(reference, undefined, LOOKED_THROUGH)) {
    yield ''
    found.push(...page)
    if (found.length > 0) break
  }
  const first = objectOfReference(found[0]?.object ?? '')
  return found.filter(({ object }) => objectOfReference(object) === first)
}

function* newestMention(queries: Queries, reference: string): Generator<string, readonly Cpid[]> {
  for (const page of queries.objects(reference, undefined, 1)) {
    yield ''
    const [first] = page
    if (first !== undefined) return first.drivenBy.length > 0 ? first.drivenBy : first.cascades
  }
  return []
}

class Chain {
  readonly #queries: Queries
  readonly #versions: { facts: ObjectVersionFacts; from: number[]; begunBy: Cpid[] }[] = []
  readonly #places = new Map<string, number>()
  readonly #changes = new Map<Cpid, CascadeOutline>()
  #isTruncated = false

  constructor(queries: Queries) {
    this.#queries = queries
  }

  get answer(): Why {
    return {
      versions: this.#versions.map(versionJson),
      changes: [...this.#changes.values()],
      truncated: this.#isTruncated,
    }
  }

  add(facts: ObjectVersionFacts): number {
    const known = this.#places.get(facts.object)
    if (known !== undefined) return known
    this.#versions.push({ facts, from: [], begunBy: [] })
    this.#places.set(facts.object, this.#versions.length - 1)
    return this.#versions.length - 1
  }

  /** Follows the reads of the versions added, breadth first. */
  *follow(): Generator<string> {
    for (let at = 0; at < this.#versions.length; at++) {
      const version = this.#versions[at]
      if (version === undefined) return
      if (!isBeginning(version.facts)) {
        const read = yield* this.#readBy(version.facts)
        version.from.push(...read)
      }
      if (version.from.length === 0) version.begunBy.push(...this.addChangesOf(rootsOf(version.facts)))
    }
    this.#addOthers()
  }

  /** Adds the changes whose writes to the explained object were superseded. */
  addSuperseded(looked: readonly ObjectVersionFacts[]): void {
    for (const facts of looked)
      if (facts.supersededBy !== undefined) this.addChangesOf(rootsOf(facts).slice(0, 1))
  }

  /** Adds the cascades with these roots, and returns the roots of cascades that exist. */
  addChangesOf(roots: readonly Cpid[]): Cpid[] {
    return roots.filter((root) => {
      if (this.#changes.has(root)) return true
      if (this.#changes.size >= MOST_CHANGES) {
        this.#isTruncated = true
        return false
      }
      const facts = this.#queries.cascade(root)
      if (typeof facts === 'string') return false
      this.#changes.set(root, cascadeOutline(facts))
      return true
    })
  }

  *#readBy(facts: ObjectVersionFacts): Generator<string, number[]> {
    const own = objectOfReference(facts.object)
    const others = facts.observed.filter((reference) => objectOfReference(reference) !== own)
    const from: number[] = []
    for (const reference of others.length > 0 || facts.seen === undefined ? others : facts.observed) {
      if (this.#places.size >= MOST_VERSIONS && !this.#places.has(reference)) {
        this.#isTruncated = true
        continue
      }
      const found = yield* this.#versionOf(reference, facts.timeNs)
      if (found === undefined || found.object === facts.object) continue
      const place = this.add(found)
      // A later write that was added before would close a cycle.
      if (found.timeNs <= facts.timeNs || place > (this.#places.get(facts.object) ?? 0)) from.push(place)
    }
    return from
  }

  /** The version that a reference names; without a version, the last one written by `byNs`. */
  *#versionOf(reference: string, byNs: UnixNanos): Generator<string, ObjectVersionFacts | undefined> {
    const hasVersion = /[?&]rv=/.test(reference)
    for (const page of this.#queries.objectVersions(reference, undefined, hasVersion ? 1 : LOOKED_THROUGH)) {
      yield ''
      const found = page.find(({ timeNs }) => hasVersion || timeNs <= byNs)
      if (found !== undefined || page.length > 0) return found
    }
    return undefined
  }

  /** Adds the changes that drive the explained version but that no write in the chain leads to: they came through merges. */
  #addOthers(): void {
    const [explained] = this.#versions
    if (explained === undefined) return
    const reached = new Set(this.#versions.flatMap(({ begunBy }) => begunBy))
    const left = explained.facts.drivenBy.filter((root) => !reached.has(root))
    explained.begunBy.push(...this.addChangesOf(left))
  }
}

/** Whether the write began a change. For an instrumented controller the mergelog says so. */
function isBeginning({ seen, begins }: ObjectVersionFacts): boolean {
  return seen === undefined ? begins : seen.cause === 'operator' || seen.cause === 'self'
}

function rootsOf({ drivenBy, cascades, cpid }: ObjectVersionFacts): readonly Cpid[] {
  const own = cpid !== undefined && cascades.includes(cpid) ? [cpid] : []
  return own.length > 0 ? own : drivenBy.length > 0 ? drivenBy : cascades
}

function versionJson({
  facts,
  from,
  begunBy,
}: {
  facts: ObjectVersionFacts
  from: readonly number[]
  begunBy: readonly Cpid[]
}): WhyVersion {
  return {
    object: facts.object,
    timestamp: rfc3339(facts.timeNs),
    name: facts.name,
    spanId: spanIdHex(facts.spanId),
    service: facts.service,
    ...seenJson(facts.seen),
    cluster: facts.cluster ?? null,
    cpid: facts.cpid ?? null,
    ...(facts.changed.length > 0 && { changed: [...facts.changed] }),
    from: [...from],
    begunBy: [...begunBy],
  }
}
