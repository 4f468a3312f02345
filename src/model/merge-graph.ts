/** A change propagation ID: the UUID of the change that an object's state came from. In lower case, with dashes. */
export type Cpid = string & { readonly kind: 'Cpid' }

/** The beginning of a CPID: at least eight digits in lower case, with the dashes of a whole CPID. */
export type CpidPrefix = string & { readonly kind: 'CpidPrefix' }

const LEAST_DIGITS = 8
const ALL_DIGITS = 32
const DIGITS = /^[0-9a-f]+$/
const DASHED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const BARE = /^[0-9a-f]{32}$/
/** The nil UUID, which is not a CPID. An archive stores it instead of NULL. */
export const NIL_CPID = '00000000-0000-0000-0000-000000000000' as Cpid

/** Parses a CPID in either case, with or without dashes; undefined if it is not a UUID or is the nil UUID. */
export function parseCpid(text: string): Cpid | undefined {
  const lower = text.toLowerCase()
  const dashed = DASHED.test(lower) ? lower : BARE.test(lower) ? dash(lower) : undefined
  return dashed === undefined || dashed === NIL_CPID ? undefined : (dashed as Cpid)
}

/** Parses the beginning of a CPID as `parseCpid` does; undefined if it is malformed or shorter than eight digits. */
export function parseCpidPrefix(text: string): CpidPrefix | undefined {
  const lower = text.toLowerCase()
  const digits = lower.replaceAll('-', '')
  if (digits.length < LEAST_DIGITS || digits.length >= ALL_DIGITS || !DIGITS.test(digits)) return undefined
  const dashed = dash(digits).replace(/-+$/, '')
  const isWritten = lower === digits || lower === dashed || lower === `${dashed}-`
  return isWritten ? (dashed as CpidPrefix) : undefined
}

/** The 16 bytes of a CPID, which are also the W3C trace id of its trace. */
export function cpidBytes(cpid: Cpid): Buffer {
  return Buffer.from(cpid.replaceAll('-', ''), 'hex')
}

/** The CPID whose 16 bytes these are. */
export function cpidOfBytes(bytes: Uint8Array): Cpid {
  return dash(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')) as Cpid
}

/** The CPID with these 32 lower-case hex digits. */
export function cpidOfDigits(digits: string): Cpid {
  return dash(digits) as Cpid
}

function dash(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** A node of the merge graph. Ids grow in the order of first sighting, and are never reused. */
export interface CpidNode {
  readonly id: number
  readonly cpid: Cpid
  /** At least the rank of each of its sources (ADR-020); usually its id, unless mergelogs arrived out of order. Not unique. */
  rank: number
  /** Whether it is a tombstone: it counts as settled, not as missing. */
  pruned: boolean
  hasMergelog: boolean
  /** Whether its own mergelog and those of all its ancestors have arrived, or it is pruned. */
  explained: boolean
  /** The number of its sources that are not explained. */
  unexplainedSources: number
  /** The number of its sources. */
  inDegree: number
  /** Its newest roots, newest first. Undefined until it is explained; fixed from then on. */
  roots: number[] | undefined
  /** When it was first seen without a mergelog, in milliseconds of up time. */
  missingSinceMs: number
  /** The number of this root's next episode, if a tombstone has to remember it. */
  nextEpisode: number
  /** The owner by the first span that carried it, if that came before the mergelog and senders have permissions of their own. */
  claim: Buffer | undefined
}

/** A CPID with its rank. */
export interface RankedCpid {
  readonly id: number
  readonly rank: number
}

/** Bounds for pruned CPIDs whose tombstones have been removed as well. */
export interface ForgottenTombstones {
  /** The latest time at which such a CPID was made or first seen, in milliseconds of wall-clock time. */
  readonly untilMs: number
  /** Greater than the episodes of all such CPIDs; 0 if there are none. */
  readonly nextEpisode: number
}

/**
 * The episode with which a root without a trace begins. That is 0, the main trace, unless a backend may already have that trace: sending it
 * again would repeat span ids with other contents. A root whose tombstone was removed looks new, so a root counts as new only if its
 * mergelog was made after all pruned ones.
 */
export function firstEpisode(
  { pruned, nextEpisode }: Pick<CpidNode, 'pruned' | 'nextEpisode'>,
  mergelogMs: number | undefined,
  forgotten: ForgottenTombstones,
): number {
  if (pruned || nextEpisode > 0 || forgotten.nextEpisode === 0) return nextEpisode
  const isNew = mergelogMs !== undefined && mergelogMs > forgotten.untilMs
  return isNew ? 0 : forgotten.nextEpisode
}

/** Notified when the ancestors of CPIDs may have changed. */
export interface GraphWatcher {
  /** The CPID was saved: it, or the edges from its sources, may have changed. */
  changed(id: number): void
  /** Everything may have changed. */
  forget(): void
}

/** What the rules of the merge graph read and write. Synchronous; used inside one transaction. */
export interface MergeGraph {
  readonly forgotten: ForgottenTombstones
  /** The node of a CPID; added if the CPID is unknown. */
  findOrAdd(cpid: Cpid): CpidNode
  /** The node of a CPID; undefined if the CPID is unknown. */
  find(cpid: Cpid): CpidNode | undefined
  /** The node with this id; throws if there is none. */
  node(id: number): CpidNode
  /** The node with this id; undefined if its tombstone has been removed. */
  maybeNode(id: number): CpidNode | undefined
  save(node: CpidNode): void
  /** Makes a tombstone a live CPID again. It stays explained, and continues with its next episode. */
  revive(node: CpidNode): void
  /** CPIDs with an edge to `id`. */
  sourcesOf(id: number): number[]
  /** At most `limit` of its targets with ids above `after`, ordered by id. */
  targetsAfter(id: number, after: number, limit: number): number[]
  /** At most `limit` of its sources, or of its targets, with ids above `after`, ordered by id. */
  rankedSources(id: number, after: number, limit: number): RankedCpid[]
  rankedTargets(id: number, after: number, limit: number): RankedCpid[]
  /** Stores the rank of a CPID; `save` does not. */
  setRank(id: number, rank: number): void
  /** Counts anew how many of its sources are not explained. */
  countUnexplained(id: number): number
  /** Stores that the explanation of a CPID has yet to reach its targets with ids above `after`; -1: also the CPID itself. */
  postponeExplanation(id: number, after: number): void
  /** Whether an explanation of this CPID is postponed. */
  isExplanationPostponed(id: number): boolean
  /** A postponed explanation; undefined if there are none. */
  nextPostponedExplanation(): { id: number; after: number } | undefined
  /** Removes the postponed explanation of this CPID. */
  forgetPostponedExplanation(id: number): void
  addEdge(source: number, target: number): void
  /** Removes all edges to a CPID from its sources. */
  removeEdgesTo(target: number): void
  /** Stores the owner of the CPID. */
  claim(node: CpidNode, claim: Buffer): void
  /** The sorted sources in the stored mergelog of the CPID; undefined without a mergelog. */
  storedSources(id: number): Cpid[] | undefined
  /** Queues an event about the CPID for the linker. Returns its arrival number. */
  announce(id: number, kind: GraphEventKind): number
  /** Notifies the watcher of all changes from now on. */
  watch(watcher: GraphWatcher): void
}

export type GraphEventKind = 'mergelog' | 'explained'

/** A mergelog with valid CPIDs. The sources are sorted and without duplicates. */
export interface Mergelog {
  cpid: Cpid
  sources: Cpid[]
}

/** Why a mergelog is refused. A new reason also needs a place in docs/audit.md, docs/operations.md and an alert. */
export const MERGELOG_REFUSALS = [
  'malformed_cpid',
  'names_itself',
  'closes_cycle',
  /** Finding out whether it closes a cycle would cost too much. */
  'cycle_unknown',
  'different_sources',
  'too_many_sources',
  'sender_not_allowed',
  'foreign_source',
  /** An attribute on which permissions depend occurs more than once. */
  'repeated_attribute',
  /** It was accepted, and later replaced by the mergelog of a sender with a better claim. */
  'contested',
] as const
export type MergelogRefusal = (typeof MERGELOG_REFUSALS)[number]

export type MergelogOutcome =
  | { kind: 'new'; arrival: number; replaced: boolean }
  | { kind: 'repeated' }
  | { kind: 'refused'; refusal: MergelogRefusal }
