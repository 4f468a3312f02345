import type { Unarchived } from '../../model/archive.ts'
import type { CausewayQueries } from '../../model/queries.ts'
import { type ArchiveClient, ArchiveSilent } from './archive-client.ts'

export interface AskingParts {
  readonly archive: ArchiveClient
  /** The database of this Causeway; absent if only the archive is queried. */
  readonly queries: CausewayQueries | undefined
  readonly unarchived: Unarchived | undefined
  readonly nowMs: () => number
}

/** An answer; `partial` says what is missing and why. */
export interface FleetAnswer {
  readonly partial?: string
}

interface Answered<T> extends FleetAnswer {
  readonly value: T
}

export class BadCursor extends Error {}

export const NOTHING_HERE: Unarchived = {
  position: () => undefined,
  cascades: () => ({ traces: [], isCut: false }),
  attributed: () => new Map(),
  edges: () => [],
  sourcesOf: () => undefined,
  momentOf: () => undefined,
}

/** Queries the archive too. If it does not answer, returns the answer of `without` and the reason. Without a database it rejects. */
export async function withArchiveOrWithout<T>(
  { archive, queries }: AskingParts,
  withIt: (deadline: AbortSignal) => Promise<Answered<T>>,
  without: () => Answered<T> | Promise<Answered<T>>,
): Promise<Answered<T>> {
  try {
    return await withIt(archive.deadline())
  } catch (error) {
    if (!(error instanceof ArchiveSilent) || queries === undefined) throw error
    const { value, partial } = await without()
    const said = `this answer has only what this Causeway stores: the archive at ${error.message}`
    return { value, partial: partial === undefined ? said : `${said}; ${partial}` }
  }
}

/** Several reasons why an answer is partial as one text. */
export function partialOf(...reasons: (string | undefined)[]): FleetAnswer {
  const given = reasons.filter((reason) => reason !== undefined)
  return given.length === 0 ? {} : { partial: given.join('; ') }
}

/** A position in a sorted list: the sort key of an item, and how many items with that key come before it. */
export interface ListPlace {
  readonly at: bigint
  readonly skip: number
}

/** Decodes a cursor. Throws BadCursor. */
export function listPlaceIn(cursor: string): ListPlace {
  const [, at = '', skip = ''] = /^(-?\d{1,19})\.(\d{1,6})$/.exec(cursor) ?? []
  if (at === '') throw new BadCursor()
  return { at: BigInt(at), skip: Number(skip) }
}

/** A page of a sorted list. `next` is the cursor of the page after it. */
export function pageFrom<T>(
  sorted: readonly T[],
  placeOf: (item: T) => bigint,
  after: ListPlace | undefined,
  limit: number,
): { items: T[]; next: string | undefined } {
  const [first] = sorted
  const skip = first !== undefined && after?.at === placeOf(first) ? after.skip : 0
  const items = sorted.slice(skip, skip + limit)
  const last = items.at(-1)
  if (last === undefined || sorted.length <= skip + limit) return { items, next: undefined }
  const place = placeOf(last)
  const ofPlace = sorted.slice(0, skip + limit).filter((item) => placeOf(item) === place).length
  return { items, next: `${place}.${ofPlace}` }
}
