import { CORE_API_VERSION, kindOfObject } from '../../model/kubernetes-objects.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import {
  type CascadeFilter,
  type CascadesOfCpid,
  type Facets,
  MOST_FACETS,
  type ObjectActivity,
} from '../../model/queries.ts'
import type { Found } from '../answer-schemas.ts'
import type { PageRequest, Question } from '../question.ts'
import { quote } from './archive-client.ts'
import {
  type AskingParts,
  BadCursor,
  type FleetAnswer,
  type ListPlace,
  listPlaceIn,
  withArchiveOrWithout,
  pageFrom,
  partialOf,
} from './asking-parts.ts'
import { askCascades, type CascadePlace, type FleetCascade, inOrder, placeOf } from './cascade-questions.ts'
import { CpidQuestions } from './cpid-questions.ts'
import { findInBoth } from './find-questions.ts'
import { HeldQuestions } from './held-questions.ts'
import { askObjects, askRoots, type FleetObject, newestFirst, type Roots } from './object-questions.ts'
import { listOf, text } from './row-columns.ts'
import { VersionQuestions } from './version-questions.ts'

/** The most traces and events of this Causeway in one answer; with more, the answer is partial. */
const MOST_OWN = 10_000
/** How long the name of this Causeway in the archive is cached, in milliseconds. */
const NAME_CACHED_MS = 30_000
const CASCADES_NAMED = 8
/** The tables with references to objects. */
const NAMING = ['object_events', 'mergelogs']
const TEXTS = listOf(text)
const FACETS = { services: TEXTS, clusters: TEXTS, actors: TEXTS, namespaces: TEXTS, kinds: TEXTS }
const SENT = ['spans', 'logs', 'mergelogs', 'refused_mergelogs']

interface FleetCascades extends FleetAnswer {
  readonly cascades: readonly FleetCascade[]
  readonly next: string | undefined
}
interface FleetObjects extends FleetAnswer {
  readonly objects: readonly FleetObject[]
  readonly next: string | undefined
}
interface FleetCascadesOf extends FleetCascades {
  /** The cascades whose work the CPID drives. */
  readonly driving: ReadonlySet<Cpid>
}

/** The name of this Causeway in the archive, and how far it has archived: the last change and the last arrival. */
interface Own {
  readonly causeway: string
  readonly change: number
  readonly arrival: number
}

/**
 * Queries an archive, and this database for what the archive lacks, and combines both (docs/adr/042). Data that the database has not sent
 * yet, or has changed since, is read before the archive is queried, and replaces the archive's version of it.
 */
export class ArchiveQuestions {
  readonly cpids: CpidQuestions
  readonly versions: VersionQuestions
  readonly held: HeldQuestions
  readonly #parts: AskingParts
  #cachedName: { causeway: string | undefined; untilMs: number } | undefined

  constructor(parts: AskingParts) {
    this.#parts = parts
    this.cpids = new CpidQuestions(parts)
    this.versions = new VersionQuestions(parts, this)
    this.held = new HeldQuestions(parts, this)
  }

  /** Lists cascades, or those of `roots`. Throws BadCursor. */
  async cascades(filter: CascadeFilter, part: PageRequest, roots?: readonly Cpid[]): Promise<FleetCascades> {
    const after = part.after === undefined ? undefined : placeIn(part.after)
    const most = (part.limit ?? Infinity) + 1
    const { archive, unarchived } = this.#parts
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => {
        const own = await this.own(deadline)
        const { traces: tail, isCut } = unarchived?.cascades(own?.change, MOST_OWN) ?? {
          traces: [],
          isCut: false,
        }
        const asked = {
          filter,
          after,
          most: Math.min(most, MOST_OWN + 1),
          tail,
          causeway: own?.causeway ?? '',
          roots,
        }
        const cascades = await askCascades(archive, asked, deadline)
        return isCut ? { value: cascades, partial: this.#lagNote(own) } : { value: cascades }
      },
      () => this.#ownCascades(filter, after, roots),
    )
    const shown = value.slice(0, most - 1)
    const last = shown.at(-1)
    const next = value.length > shown.length && last !== undefined ? textOfPlace(placeOf(last)) : undefined
    return { cascades: shown, next, ...partialOf(partial) }
  }

  /** Cascades of this database, in the order of the archive. Used when the archive does not answer. */
  #ownCascades(
    filter: CascadeFilter,
    after: CascadePlace | undefined,
    roots: readonly Cpid[] | undefined,
  ): { value: FleetCascade[]; partial?: string } {
    const { queries } = this.#parts
    const found: FleetCascade[] = []
    const causeway = this.#cachedName?.causeway
    const pages =
      roots === undefined
        ? queries?.cascades(filter, undefined)
        : queries?.cascadesAmong(roots, undefined, filter)
    for (const page of pages ?? []) {
      found.push(...page.map((facts) => ({ ...facts, causeway })))
      if (found.length > MOST_OWN) break
    }
    const value = found
      .slice(0, MOST_OWN)
      .filter((one) => after === undefined || inOrder(placeOf(one), after) > 0)
      .toSorted((a, b) => inOrder(placeOf(a), placeOf(b)))
    return found.length > MOST_OWN ? { value, partial: `of this Causeway the newest ${MOST_OWN}` } : { value }
  }

  /** The cascades in which a CPID takes part. Throws BadCursor. */
  async cascadesOf(cpid: Cpid, part: PageRequest): Promise<FleetCascadesOf | 'unknown' | 'pruned'> {
    const known = await this.cpids.facts(cpid)
    if (typeof known === 'string') return known
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => ({ value: await askRoots(this.#parts.archive, [cpid], deadline) }),
      () => ({ value: new Map<Cpid, Roots>() }),
    )
    const { cascades, drivenBy } = this.rootsOf(cpid, value.get(cpid))
    const { partial: other, ...found } = await this.cascades({}, part, cascades)
    return { ...found, driving: new Set(drivenBy), ...partialOf(known.partial ?? partial ?? other) }
  }

  /** Lists events of the objects of a reference. Throws BadCursor. */
  async objects(ref: string, part: PageRequest): Promise<FleetObjects> {
    const after = part.after === undefined ? undefined : listPlaceIn(part.after)
    const limit = Math.min(part.limit ?? MOST_OWN, MOST_OWN)
    const most = limit + 1 + (after?.skip ?? 0)
    const { archive, unarchived } = this.#parts
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => {
        const own = await this.own(deadline)
        const ours = this.#ownObjects(ref, own?.arrival ?? -1, own?.causeway)
        const attributed =
          own === undefined ? new Map<number, Cpid>() : (unarchived?.attributed(own.change) ?? new Map())
        const asked = { ref, untilNs: after?.at, most, own, attributed }
        const theirs = await askObjects(archive, asked, deadline)
        const here = new Set(ours.objects.map(eventKey))
        const all = [
          ...ours.objects,
          ...theirs.filter((one) => !here.has(eventKey(one)) || isOnlyArchived(one, own)),
        ]
        const page = pageOf(all, after, limit)
        const roots = await askRoots(archive, cpidsOf(page.objects), deadline)
        const value = { ...page, objects: page.objects.map((one) => this.#withCascades(one, roots)) }
        return ours.isCut ? { value, partial: this.#lagNote(own) } : { value }
      },
      () => {
        const ours = this.#ownObjects(ref, -1, this.#cachedName?.causeway)
        const page = pageOf(ours.objects, after, limit)
        const value = { ...page, objects: page.objects.map((one) => this.#withCascades(one, new Map())) }
        return ours.isCut ? { value, partial: `of this Causeway the newest ${MOST_OWN}` } : { value }
      },
    )
    return { ...value, ...partialOf(partial) }
  }

  #ownObjects(
    ref: string,
    afterArrival: number,
    causeway: string | undefined,
  ): { objects: FleetObject[]; isCut: boolean } {
    const objects: FleetObject[] = []
    for (const page of this.#parts.queries?.objects(ref, undefined) ?? []) {
      const fresh = page.filter(({ position: [arrival = 0n] }) => arrival > BigInt(afterArrival))
      objects.push(...fresh.map((facts) => ({ ...facts, causeway })))
      if (objects.length > MOST_OWN) return { objects: objects.slice(0, MOST_OWN), isCut: true }
      if (fresh.length < page.length) break
    }
    return { objects, isCut: false }
  }

  #withCascades(one: FleetObject, roots: ReadonlyMap<Cpid, Roots>): FleetObject {
    if (one.cpid === undefined) return one
    const { cascades, drivenBy } = this.rootsOf(one.cpid, roots.get(one.cpid))
    return {
      ...one,
      cascades: cascades.slice(0, CASCADES_NAMED),
      drivenBy: drivenBy.slice(0, CASCADES_NAMED),
    }
  }

  /** The cascades of a CPID. Those of this database come first, since they are the newest. */
  rootsOf(cpid: Cpid, { driving = [], passedOn = [] }: Partial<Roots> = {}): CascadesOfCpid {
    const found = this.#parts.queries?.cascadesOf(cpid)
    const here = found === undefined || typeof found === 'string' ? { cascades: [], drivenBy: [] } : found
    const known = new Set<Cpid>(here.cascades)
    const others = (of: readonly Cpid[]): Cpid[] =>
      of.filter((root) => !known.has(root) && !this.#isNoRoot(root))
    const drivenBy = [...here.drivenBy, ...others(driving)]
    const cascades = [...drivenBy, ...here.cascades.slice(here.drivenBy.length), ...others(passedOn)]
    return { cascades, drivenBy }
  }

  /** Whether a root of the archive is no root any more: its CPID has sources by now, which the archive may not have yet. */
  #isNoRoot(root: Cpid): boolean {
    const { queries, unarchived } = this.#parts
    return (unarchived?.sourcesOf(root)?.length ?? 0) > 0 && typeof queries?.cascade(root) === 'string'
  }

  async find(question: Question & { readonly kind: 'find' }): Promise<Found & FleetAnswer> {
    return await findInBoth(this.#parts, this, question)
  }

  async facets(): Promise<Facets & FleetAnswer> {
    const here = this.#parts.queries?.facets()
    const { value, partial } = await withArchiveOrWithout(
      this.#parts,
      async (deadline) => ({ value: await this.#archivedFacets(deadline) }),
      () => ({ value: undefined }),
    )
    const both = (of: keyof Facets): string[] =>
      [...new Set([...(here?.[of] ?? []), ...(value?.[of] ?? [])])].sort().slice(0, MOST_FACETS)
    return {
      ...{ services: both('services'), clusters: both('clusters'), actors: both('actors') },
      ...{ namespaces: both('namespaces'), kinds: both('kinds') },
      ...partialOf(partial),
    }
  }

  /** The values of filters, from the newest month of the archive's cascades and the newest week of its other tables. */
  async #archivedFacets(deadline: AbortSignal): Promise<Facets> {
    const { archive } = this.#parts
    const lately = (table: string, days: number): string =>
      `day >= (SELECT max(day) - ${days} FROM ${archive.name(table)})`
    const most = `${MOST_FACETS}`
    const texts = (column: string): string => `CAST(${column} AS Nullable(String))`
    const [row] = await archive.rows(
      FACETS,
      `WITH c AS (SELECT groupUniqArrayArray(${most})(service_names) AS services, groupUniqArray(${most})(${texts('service')}) AS senders,
         groupUniqArray(${most})(${texts('cluster')}) AS clusters, groupUniqArrayArray(${most})(actors) AS names,
         groupUniqArrayArray(${most})(namespaces) AS places FROM ${archive.name('cascades')} WHERE ${lately('cascades', 30)}),
       s AS (SELECT groupUniqArray(${most})(sender) AS senders, groupUniqArray(${most})(cluster) AS clusters FROM (${SENT.map(
         (table) =>
           `SELECT DISTINCT ${texts('service')} AS sender, ${texts('cluster')} AS cluster FROM ${archive.name(table)} WHERE ${lately(table, 7)}`,
       ).join(' UNION ALL ')})),
       o AS (SELECT groupUniqArray(${most})(kind) AS kinds FROM (${NAMING.map(
         (table) =>
           `SELECT DISTINCT arrayStringConcat(arraySlice(splitByChar('/', ifNull(object, '')) AS parts, 1,
              if(match(parts[1], ${quote(CORE_API_VERSION.source)}), 2, 3)), '/') AS kind
            FROM ${archive.name(table)} WHERE ${lately(table, 7)}`,
       ).join(' UNION ALL ')}))
       SELECT arrayConcat(c.services, c.senders, s.senders) AS services, arrayConcat(c.clusters, s.clusters) AS clusters,
         c.names AS actors, c.places AS namespaces, o.kinds AS kinds FROM c, s, o`,
      deadline,
    )
    const given = (of: keyof Facets): string[] => (row?.[of] ?? []).filter((text) => text !== '')
    const kinds = given('kinds').flatMap((begun) => kindOfObject(`${begun}/-`) ?? [])
    return {
      ...{ services: given('services'), clusters: given('clusters'), actors: given('actors') },
      ...{ namespaces: given('namespaces'), kinds },
    }
  }

  #lagNote(own: Own | undefined): string {
    return own === undefined
      ? `of this Causeway, which does not archive there, the newest ${MOST_OWN} are in this answer`
      : `the archive lacks much of ${own.causeway}: of that, the newest ${MOST_OWN} are in this answer`
  }

  /**
   * Undefined if this Causeway does not archive there. Call it before querying the archive: this database answers for what is archived
   * later.
   */
  async own(deadline: AbortSignal): Promise<Own | undefined> {
    const { archive, unarchived, nowMs } = this.#parts
    const position = unarchived?.position()
    if (position === undefined) return undefined
    if (this.#cachedName === undefined || this.#cachedName.untilMs < nowMs()) {
      const [row] = await archive.rows(
        { causeway: text },
        `SELECT causeway FROM ${archive.name('causeways')} FINAL WHERE instance = ${quote(position.instance)} ORDER BY seen DESC LIMIT 1`,
        deadline,
      )
      this.#cachedName = { causeway: row?.causeway, untilMs: nowMs() + NAME_CACHED_MS }
    }
    const { causeway } = this.#cachedName
    const { arrival, change } = position
    return causeway === undefined ? undefined : { causeway, arrival, change }
  }
}

/** Whether the archive alone has this event: its query leaves out events that this database answers, except mergelogs. */
function isOnlyArchived({ causeway, action }: FleetObject, own: Own | undefined): boolean {
  return own !== undefined && causeway === own.causeway && action !== 'mergelog'
}

/** The key of an event. A mergelog is identified by its CPID, a reference by object, time and service. */
function eventKey({
  action,
  cpid,
  object,
  timeNs,
  service,
  cluster,
}: Omit<ObjectActivity, 'position'>): string {
  return action === 'mergelog'
    ? `mergelog ${cpid}`
    : JSON.stringify([action, object, timeNs.toString(), service, cluster])
}

function cpidsOf(objects: readonly FleetObject[]): Cpid[] {
  return [...new Set(objects.flatMap(({ cpid }) => cpid ?? []))]
}

function pageOf(
  all: readonly FleetObject[],
  after: ListPlace | undefined,
  limit: number,
): { objects: FleetObject[]; next: string | undefined } {
  const sorted = all.filter((one) => after === undefined || one.timeNs <= after.at).toSorted(newestFirst)
  const { items, next } = pageFrom(sorted, ({ timeNs }) => timeNs, after, limit)
  return { objects: items, next }
}

function textOfPlace({ startNs, root, causeway }: CascadePlace): string {
  return `${startNs}.${root}.${encodeURIComponent(causeway)}`
}

/** Decodes a cursor. Throws BadCursor. */
function placeIn(cursor: string): CascadePlace {
  const [, start = '', id = '', causeway = ''] =
    /^(-?\d{1,19})\.([0-9a-f-]{36})\.([\w.:/%-]{0,600})$/.exec(cursor) ?? []
  const root = parseCpid(id)
  if (root === undefined) throw new BadCursor()
  try {
    return { startNs: BigInt(start), root, causeway: decodeURIComponent(causeway) }
  } catch {
    throw new BadCursor()
  }
}
