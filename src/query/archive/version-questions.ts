import { objectOfReference } from '../../model/kubernetes-objects.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import type {
  CascadeFacts,
  CausewayQueries,
  ObjectActivity,
  ObjectVersionFacts,
  Pages,
} from '../../model/queries.ts'
import { WRITE_CAUSES } from '../../model/seen-write.ts'
import type { PageRequest } from '../question.ts'
import { whyJson } from '../why-json.ts'
import { amongCpids, type ArchiveClient, ArchiveSilent, referenceIn, textOf } from './archive-client.ts'
import type { ArchiveQuestions } from './archive-questions.ts'
import {
  type AskingParts,
  type FleetAnswer,
  type ListPlace,
  listPlaceIn,
  withArchiveOrWithout,
  pageFrom,
  partialOf,
} from './asking-parts.ts'
import { askRoots, matchingObjects, type Roots } from './object-questions.ts'
import { cpid, cpidIfAny, flag, integer, listOf, type RowOf, text, textIfAny } from './row-columns.ts'

/** The most versions that are read from this database for one answer. */
const MOST_OWN = 10_000

interface FleetVersion extends Omit<ObjectVersionFacts, 'position'> {
  readonly causeway: string | undefined
  readonly version: bigint
  readonly arrival: bigint
}

interface FleetVersions extends FleetAnswer {
  readonly versions: readonly FleetVersion[]
  readonly next: string | undefined
}

const VERSION = {
  ...{
    ref: text,
    version: integer,
    arrival: integer,
    at: integer,
    name: text,
    span: integer,
    digest: integer,
  },
  ...{ cpid: cpidIfAny, service: text, cluster: textIfAny, actor: textIfAny, cause: text, gap: text },
  causeway: textIfAny,
}
const OBSERVED = { span: integer, digest: integer, refs: listOf(text) }

/** The columns of the mergelog of a version's CPID. */
const MERGELOG = { cpid, service: text, object: text, reason: textIfAny, begins: flag }

/** Answers questions about the versions of objects from the archive and this database. */
export class VersionQuestions {
  readonly #parts: AskingParts
  readonly #questions: ArchiveQuestions

  constructor(parts: AskingParts, questions: ArchiveQuestions) {
    this.#parts = parts
    this.#questions = questions
  }

  /** Lists the versions of an object, the highest first. Throws BadCursor. */
  async versions(ref: string, part: PageRequest): Promise<FleetVersions> {
    const after = part.after === undefined ? undefined : listPlaceIn(part.after)
    const limit = Math.min(part.limit ?? MOST_OWN, MOST_OWN)
    const most = limit + 1 + (after?.skip ?? 0)
    const { archive } = this.#parts
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => {
        const own = await this.#questions.own(deadline)
        const ours = this.#ownVersions(ref, after, most, own?.causeway)
        const theirs = await askVersions(archive, { ref, after, most }, deadline)
        const here = new Set(ours.map(keyOf))
        const others = theirs.filter((one) => one.causeway !== own?.causeway || !here.has(keyOf(one)))
        const page = pageOf([...ours, ...others], after, limit)
        const cpids = [...new Set(page.versions.flatMap(({ cpid }) => cpid ?? []))]
        const roots = await askRoots(archive, cpids, deadline)
        return { value: { ...page, versions: page.versions.map((one) => this.#withCascades(one, roots)) } }
      },
      () => ({ value: pageOf(this.#ownVersions(ref, after, most, undefined), after, limit) }),
    )
    return { ...value, ...partialOf(partial) }
  }

  #ownVersions(
    ref: string,
    after: ListPlace | undefined,
    most: number,
    causeway: string | undefined,
  ): FleetVersion[] {
    const found: FleetVersion[] = []
    let last: bigint | undefined
    for (const page of this.#parts.queries?.objectVersions(ref, undefined) ?? [])
      for (const facts of page) {
        const [version = -1n, arrival = 0n] = facts.position
        if (after !== undefined && version > after.at) continue
        // A page boundary does not divide the rows of one version: they are sorted together.
        if (found.length >= most && version !== last) return found
        if (found.length >= MOST_OWN) return found
        found.push({ ...facts, version, arrival, causeway })
        last = version
      }
    return found
  }

  #withCascades(one: FleetVersion, roots: ReadonlyMap<Cpid, Roots>): FleetVersion {
    return one.cpid === undefined
      ? one
      : { ...one, ...this.#questions.rootsOf(one.cpid, roots.get(one.cpid)) }
  }

  /** Explains why an object is as it is, in JSON. */
  async why(ref: string): Promise<{ text: string } & FleetAnswer> {
    const { queries } = this.#parts
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => await this.#followed(ref, deadline),
      () => ({ value: [...whyJson(queries ?? NOTHING, ref)].join('') }),
    )
    return { text: value, ...partialOf(partial) }
  }

  /** Runs `whyJson` again and again. Each time it fails for a fact that is not known yet, that fact is queried from both. */
  async #followed(ref: string, deadline: AbortSignal): Promise<{ value: string } & FleetAnswer> {
    const known = new KnownObjects(this.#questions, this)
    for (;;) {
      try {
        return { value: [...whyJson(known, ref)].join(''), ...partialOf(known.partial) }
      } catch (error) {
        if (!(error instanceof NotAskedYet)) throw error
        if (deadline.aborted)
          throw new ArchiveSilent('too much led to it to be followed in time; raise timeout')
        await error.ask()
      }
    }
  }
}

const NOTHING: Pick<CausewayQueries, 'objectVersions' | 'objects' | 'cascade'> = {
  objectVersions: () => [],
  objects: () => [],
  cascade: () => 'unknown',
}

class NotAskedYet extends Error {
  readonly ask: () => Promise<void>

  constructor(ask: () => Promise<void>) {
    super('not asked yet')
    this.ask = ask
  }
}

/** Answers from facts that were queried before; throws NotAskedYet for all others. */
class KnownObjects implements Pick<CausewayQueries, 'objectVersions' | 'objects' | 'cascade'> {
  readonly #questions: ArchiveQuestions
  readonly #versions: VersionQuestions
  readonly #answers = new Map<string, unknown>()
  /** What one of the answers lacks, and why. */
  partial: string | undefined

  constructor(questions: ArchiveQuestions, versions: VersionQuestions) {
    this.#questions = questions
    this.#versions = versions
  }

  objectVersions(ref: string, _after: undefined, first = MOST_OWN): Pages<ObjectVersionFacts> {
    return this.#known(`versions ${first} ${ref}`, async () => {
      const { versions, partial } = await this.#versions.versions(ref, { limit: first })
      this.partial ??= partial
      return [versions.map((facts) => ({ ...facts, position: [] }))]
    })
  }

  objects(ref: string, _after: undefined, first = 1): Pages<ObjectActivity> {
    return this.#known(`objects ${ref}`, async () => {
      const { objects, partial } = await this.#questions.objects(ref, { limit: first })
      this.partial ??= partial
      return [objects.map((facts) => ({ ...facts, position: [] }))]
    })
  }

  cascade(root: Cpid): CascadeFacts | 'unknown' {
    return this.#known(`cascade ${root}`, async () => {
      const { cascades, partial } = await this.#questions.cascades({}, {}, [root])
      this.partial ??= partial
      const facts = cascades.find(({ service }) => service !== undefined) ?? cascades[0]
      return facts === undefined ? 'unknown' : { ...facts, position: [] }
    })
  }

  #known<T>(key: string, ask: () => Promise<T>): T {
    if (!this.#answers.has(key))
      throw new NotAskedYet(async () => {
        this.#answers.set(key, await ask())
      })
    return this.#answers.get(key) as T
  }
}

interface AskedVersions {
  readonly ref: string
  readonly after: ListPlace | undefined
  readonly most: number
}

async function askVersions(
  archive: ArchiveClient,
  { ref, after, most }: AskedVersions,
  deadline: AbortSignal,
): Promise<FleetVersion[]> {
  const matching = matchingObjects(ref)
  if (matching === undefined) return []
  const events = archive.name('object_events')
  const reference = `${referenceIn('event')} AS ref`
  const conditions = [
    `s.action = 'wrote' AND ${matching}`,
    ...(after === undefined ? [] : [`s.object_version <= ${after.at}`]),
  ]
  const rows = await archive.rows(
    VERSION,
    `SELECT ${reference}, toString(s.object_version) AS version, toString(s.arrival) AS arrival,
       toString(toUnixTimestamp64Nano(s.time)) AS at, CAST(s.span AS String) AS name, toString(s.span_id) AS span, toString(s.digest) AS digest,
       toString(s.cpid) AS cpid, ${textOf('s.service')} AS service, ${textOf('s.cluster')} AS cluster, ${textOf('s.actor')} AS actor,
       ${textOf('s.cause')} AS cause, ${textOf('s.gap')} AS gap, CAST(s.causeway AS String) AS causeway
     FROM ${events} AS s FINAL WHERE ${conditions.join(' AND ')}
     ORDER BY s.object_version DESC, s.time DESC, s.arrival DESC, ref LIMIT ${most}`,
    deadline,
  )
  if (rows.length === 0) return []
  const spans = [...new Set(rows.map(({ span, digest }) => `(${span}, ${digest})`))].join(', ')
  const observed = await archive.rows(
    OBSERVED,
    `SELECT span, digest, groupArray(ref) AS refs FROM (SELECT toString(s.span_id) AS span, toString(s.digest) AS digest, ${reference}
       FROM ${events} AS s FINAL WHERE s.action = 'observed' AND (s.span_id, s.digest) IN (${spans}) ORDER BY ref) GROUP BY span, digest`,
    deadline,
  )
  const read = new Map(observed.map(({ span, digest, refs }) => [`${span} ${digest}`, refs]))
  const cpids = [...new Set(rows.flatMap(({ cpid }) => cpid ?? []))]
  const found = await archive.rows(
    MERGELOG,
    `SELECT toString(s.cpid) AS cpid, ${textOf('s.service')} AS service, ifNull(s.object, '') AS object, ifNull(s.reason, '') AS reason,
       empty(s.sources) AS begins
     FROM ${archive.name('mergelogs')} AS s FINAL PREWHERE s.cpid GLOBAL IN (${amongCpids(cpids)})`,
    deadline,
  )
  const mergelogs = new Map(found.map((one) => [one.cpid, one]))
  return rows.map((row) =>
    factsOf(row, read.get(`${row.span} ${row.digest}`) ?? [], row.cpid && mergelogs.get(row.cpid)),
  )
}

function factsOf(
  row: RowOf<typeof VERSION>,
  observed: readonly string[],
  merged: RowOf<typeof MERGELOG> | undefined,
): FleetVersion {
  const cause = WRITE_CAUSES.find((one) => one === row.cause)
  return {
    ...{ object: row.ref, name: row.name, service: row.service },
    ...{ timeNs: row.at, spanId: row.span, version: row.version, arrival: row.arrival },
    ...{ causeway: row.causeway, cluster: row.cluster, cpid: row.cpid },
    ...{ cascades: [], drivenBy: [], observed, changed: [], supersededBy: undefined },
    reason: merged?.reason,
    begins:
      merged?.begins === true &&
      merged.service === row.service &&
      merged.object === objectOfReference(row.ref),
    seen: cause === undefined ? undefined : { user: row.actor, cause, gap: row.gap === 'yes' },
  }
}

function keyOf({ arrival, object }: FleetVersion): string {
  return `${arrival} ${object}`
}

function highestFirst(a: FleetVersion, b: FleetVersion): number {
  if (a.version !== b.version) return a.version > b.version ? -1 : 1
  if (a.timeNs !== b.timeNs) return a.timeNs > b.timeNs ? -1 : 1
  if (a.arrival !== b.arrival) return a.arrival > b.arrival ? -1 : 1
  return a.object < b.object ? -1 : Number(a.object > b.object)
}

function pageOf(
  all: readonly FleetVersion[],
  after: ListPlace | undefined,
  limit: number,
): { versions: FleetVersion[]; next: string | undefined } {
  const sorted = all.toSorted(highestFirst)
  const { items, next } = pageFrom(sorted, ({ version }) => version, after, limit)
  return { versions: items, next }
}
