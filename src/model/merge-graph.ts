/** A change propagation ID: a UUID naming the change an object's state came from. Lower case, dashed. */
export type Cpid = string & { readonly kind: 'Cpid' }

/** How a CPID begins: at least eight digits in lower case, dashed as a whole one is. */
export type CpidPrefix = string & { readonly kind: 'CpidPrefix' }

const LEAST_DIGITS = 8
const ALL_DIGITS = 32
const DIGITS = /^[0-9a-f]+$/
const DASHED = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const BARE = /^[0-9a-f]{32}$/
/** The nil UUID is no CPID; an archive stores it in place of NULL. */
export const NIL_CPID = '00000000-0000-0000-0000-000000000000' as Cpid

/** Reads a CPID in any case, with or without dashes; undefined when it is not a UUID or is all zeros. */
export function parseCpid(text: string): Cpid | undefined {
  const lower = text.toLowerCase()
  const dashed = DASHED.test(lower) ? lower : BARE.test(lower) ? dash(lower) : undefined
  return dashed === undefined || dashed === NIL_CPID ? undefined : (dashed as Cpid)
}

/** Reads the beginning of a CPID as `parseCpid` reads a whole one; undefined when it is none, or shorter than eight digits. */
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

/** A CPID as the merge graph holds it. Ids grow in the order of first sighting and are never used twice. */
export interface CpidNode {
  readonly id: number
  readonly cpid: Cpid
  /** Never below that of a source of it (ADR-020). Several may have the same; its number, unless arrival was out of order. */
  rank: number
  /** A tombstone: it counts as settled, not as missing. */
  pruned: boolean
  hasMergelog: boolean
  /** Its own mergelog and those of all its ancestors have arrived, or it is pruned. */
  explained: boolean
  /** How many of its sources are not explained. */
  unexplainedSources: number
  /** How many edges point to it. */
  inDegree: number
  /** Its newest roots, newest first; fixed once explained, undefined before. */
  roots: number[] | undefined
  /** When Causeway first saw it without a mergelog, in milliseconds of up time. */
  missingSinceMs: number
  /** The episode a next one of this root would be, where tombstones must remember it. */
  nextEpisode: number
  /** The owner by the first span that carried it, if that came before its mergelog and senders have permissions of their own. */
  claim: Buffer | undefined
}

/** A CPID in a search by rank. */
export interface RankedCpid {
  readonly id: number
  readonly rank: number
}

/** Bounds for pruned CPIDs whose tombstones were removed too. */
export interface ForgottenTombstones {
  /** No such CPID was made or first seen later than this, in milliseconds of wall-clock time. */
  readonly untilMs: number
  /** No such CPID has had this episode or a later one; 0 while there are none. */
  readonly nextEpisode: number
}

/**
 * The first episode of a root without a trace: 0, its main trace, unless a backend may have that already. Sending to it again
 * would repeat span ids with other contents. A root whose tombstone is gone looks like a new one, so it counts as new only if
 * its mergelog was made after all pruned ones.
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

/** Called when ancestors of CPIDs may have changed. */
export interface GraphWatcher {
  /** The CPID was saved: it, or its edges to its sources, may have changed. */
  changed(id: number): void
  /** Anything may have changed. */
  forget(): void
}

/** What the merge graph's rules read and write. Synchronous: it is used inside one transaction. */
export interface MergeGraph {
  readonly forgotten: ForgottenTombstones
  /** The node of a CPID, added if it was not known. */
  findOrAdd(cpid: Cpid): CpidNode
  /** The node of a CPID, if it is known. */
  find(cpid: Cpid): CpidNode | undefined
  /** The node with this number; throws when there is none. */
  node(id: number): CpidNode
  /** The node with this number, unless it was pruned and its tombstone is gone. */
  maybeNode(id: number): CpidNode | undefined
  save(node: CpidNode): void
  /** Makes a tombstone a live CPID again: it stays explained and goes on with its next episode. */
  revive(node: CpidNode): void
  /** CPIDs with an edge to `id`. */
  sourcesOf(id: number): number[]
  /** At most `limit` of its targets with a number above `after`, in order. */
  targetsAfter(id: number, after: number, limit: number): number[]
  /** At most `limit` of its sources, and of its targets, with a number above `after`, in order. */
  rankedSources(id: number, after: number, limit: number): RankedCpid[]
  rankedTargets(id: number, after: number, limit: number): RankedCpid[]
  /** Changes the rank of a CPID, which `save` does not. */
  setRank(id: number, rank: number): void
  /** Counts again how many of its sources are not explained. */
  countUnexplained(id: number): number
  /** Stores that the explanation of a CPID is still to reach its targets with a number above `after`; -1 for the CPID itself, too. */
  postponeExplanation(id: number, after: number): void
  /** Whether that is stored for this CPID. */
  isExplanationPostponed(id: number): boolean
  /** One of these; undefined when there are none. */
  nextPostponedExplanation(): { id: number; after: number } | undefined
  /** Removes that again. */
  forgetPostponedExplanation(id: number): void
  addEdge(source: number, target: number): void
  /** Removes all edges to a CPID. */
  removeEdgesTo(target: number): void
  /** Sets the owner of the CPID. */
  claim(node: CpidNode, claim: Buffer): void
  /** The source set of the CPID's stored mergelog, sorted, or undefined without one. */
  storedSources(id: number): Cpid[] | undefined
  /** Queues an event about the CPID for the linker; returns its arrival number. */
  announce(id: number, kind: GraphEventKind): number
  /** Calls the watcher on every change from now on. */
  watch(watcher: GraphWatcher): void
}

export type GraphEventKind = 'mergelog' | 'explained'

/** A mergelog whose CPIDs have been checked. Sources are a set: sorted, none twice. */
export interface Mergelog {
  cpid: Cpid
  sources: Cpid[]
}

/** Why a mergelog is refused. A new reason also needs a place in docs/audit.md, docs/operations.md and an alert. */
export const MERGELOG_REFUSALS = [
  'malformed_cpid',
  'names_itself',
  'closes_cycle',
  /** Whether it closes a cycle would cost too much to find out. */
  'cycle_unknown',
  'different_sources',
  'too_many_sources',
  'sender_not_allowed',
  'foreign_source',
  /** An attribute that permissions depend on is there more than once. */
  'repeated_attribute',
  /** It was accepted, and a mergelog of a sender with a better claim replaced it. */
  'contested',
] as const
export type MergelogRefusal = (typeof MERGELOG_REFUSALS)[number]

export type MergelogOutcome =
  | { kind: 'new'; arrival: number; replaced: boolean }
  | { kind: 'repeated' }
  | { kind: 'refused'; refusal: MergelogRefusal }
