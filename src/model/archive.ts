import type { Cpid } from './merge-graph.ts'
import type { ScopeEnvelopes } from './outbox.ts'
import type { UnixNanos } from './time-and-size.ts'

/** How far an archive has read each sequence of changes. What all archives have passed may be pruned. */
export interface ArchivePosition {
  /** Of spans, log records and mergelogs: the last arrival. */
  readonly arrival: number
  /** Of sent spans: the last decision. */
  readonly decision: number
  /** Of CPIDs, cascades and spans: the last change. */
  readonly change: number
  readonly refusedMergelog: number
  readonly refusedItem: number
  /** The newest version that was given to a row. Versions never decrease, even if the clock does. */
  readonly version: number
}

/** Where an archive resumes, and this database's id in it. */
export interface KeptArchive {
  readonly position: ArchivePosition
  /** A random id, 32 hex digits. It tells this database from another one that writes under the same name. */
  readonly instance: string
}

/** The positions of the archives, inside a transaction. */
export interface ArchiveStore {
  /** Keeps exactly these archives. A new one starts from the oldest row; a removed one is forgotten. */
  keep(names: readonly string[]): Map<string, KeptArchive>
  moveTo(name: string, position: ArchivePosition, refused: number): void
}

interface Sent {
  readonly service: string | null
  readonly cluster: string | null
}

/** An object reference, split into its parts. */
interface NamedObject {
  readonly object: string | null
  readonly objectUid: string | null
  readonly objectVersion: string | null
}

export interface ArchivedSpan extends Sent {
  readonly arrival: number
  /** The id of its scope in this database. */
  readonly scope: number
  readonly cpid: Cpid | null
  /** 32 hex digits. */
  readonly traceId: string
  /** 0 for none. */
  readonly spanId: bigint
  readonly parentId: bigint
  readonly name: string
  readonly startNs: UnixNanos
  readonly endNs: UnixNanos
  readonly kind: number
  readonly status: number
  readonly actor: string | null
  readonly cause: string | null
  readonly gap: boolean | null
  /** Whether the span read or wrote objects. */
  readonly namesObjects: boolean
  /** A digest of the content: the same in every archive and from every Causeway. */
  readonly digest: bigint
  readonly raw: Buffer
}

export interface ArchivedObjectEvent {
  readonly span: ArchivedSpan
  readonly object: string
  readonly cluster: string
  readonly wrote: boolean
  readonly version: bigint | null
  readonly uid: string | null
}

export interface ArchivedLog extends Sent {
  readonly arrival: number
  readonly cpid: Cpid | null
  readonly timeNs: UnixNanos
  readonly eventName: string
  readonly severity: number
  readonly traceId: string | null
  readonly spanId: bigint
  readonly digest: bigint
  readonly raw: Buffer
}

export interface ArchivedMergelog extends Sent, NamedObject {
  readonly cpid: Cpid
  readonly timeNs: UnixNanos
  readonly arrivedMs: number
  readonly sources: readonly Cpid[]
  readonly reason: string | null
}

/** An edge of a mergelog that was replaced by another one. */
interface RemovedEdge {
  readonly source: Cpid
  readonly cpid: Cpid
  /** The cluster of the mergelog that replaced it. */
  readonly cluster: string | null
  readonly arrivedMs: number
}

export interface ArchivedCpid extends Sent, NamedObject {
  readonly cpid: Cpid
  readonly isPruned: boolean
  readonly isExplained: boolean
  readonly firstSeenMs: number
  /** The time of its mergelog; null without one. */
  readonly timeNs: UnixNanos | null
  readonly isRoot: boolean
  readonly reason: string | null
}

/** A trace of a cascade. */
export interface ArchivedCascade extends Sent {
  readonly root: Cpid
  readonly episode: number
  readonly traceId: string
  readonly isOpen: boolean
  readonly firstNs: UnixNanos
  readonly lastNs: UnixNanos
  readonly spans: number
  readonly services: number
  readonly merges: number
  readonly missing: number
  readonly object: string | null
  readonly reason: string | null
  readonly truncated: boolean
  readonly continues: string | null
  readonly clockSkew: boolean
  readonly actor: string | null
  readonly gaps: number
  readonly missedVersions: number
  readonly failed: number
  /** Whether all its times are so long before their arrival that they are doubted. */
  readonly hasDoubtfulTimes: boolean
  /** The object reference in the root's mergelog, as it was sent. */
  readonly reference: string | null
  /** Of the actors, the one who began the cascade. */
  readonly beganBy: string | null
  /** The values for filters: the services, actors and namespaces. */
  readonly serviceNames: readonly string[]
  readonly actors: readonly string[]
  readonly namespaces: readonly string[]
  /** Whether the cascade no longer exists: its root got a mergelog with sources. */
  readonly isGone: boolean
}

export interface InTrace {
  readonly root: Cpid
  readonly episode: number
  /** The id of the cascade's trace. */
  readonly inTrace: string
  /** The start of the trace. */
  readonly firstNs: UnixNanos
  /** The cluster in the root's mergelog. */
  readonly rootCluster: string | null
}

export interface ArchivedActor extends InTrace {
  readonly actor: string
  readonly writes: number
  readonly gaps: number
  readonly began: boolean
}

export interface ArchivedChange extends InTrace {
  readonly cpid: Cpid
  readonly drives: boolean
}

export interface ArchivedPlacement extends InTrace {
  readonly span: ArchivedSpan
  readonly parentId: bigint
  /** When the span that it waited for ended. */
  readonly causeEndNs: UnixNanos | null
  readonly isCopy: boolean
  readonly isActivity: boolean
}

/** A span in the form for backends. */
export interface ArchivedSentSpan {
  readonly bytes: Buffer
  readonly envelopes: ScopeEnvelopes | undefined
}

export interface ArchivedRefusedMergelog extends Sent {
  readonly number: number
  readonly arrivedMs: number
  readonly cpid: string
  readonly sources: string
  readonly reason: string
  readonly sender: string | null
}

export interface ArchivedRefusedItem {
  readonly number: number
  readonly arrivedMs: number
  readonly items: number
  readonly message: string
}

/** The next rows for an archive, as of one moment. */
export interface ArchivedFacts {
  readonly spans: ArchivedSpan[]
  /** Spans that got a CPID after they were archived, perhaps without one. */
  readonly attributed: ArchivedSpan[]
  readonly objectEvents: ArchivedObjectEvent[]
  readonly logs: ArchivedLog[]
  readonly mergelogs: ArchivedMergelog[]
  readonly removedEdges: RemovedEdge[]
  readonly cpids: ArchivedCpid[]
  readonly cascades: ArchivedCascade[]
  readonly actors: ArchivedActor[]
  readonly changes: ArchivedChange[]
  readonly placements: ArchivedPlacement[]
  readonly sentSpans: ArchivedSentSpan[]
  readonly refusedMergelogs: ArchivedRefusedMergelog[]
  readonly refusedItems: ArchivedRefusedItem[]
}

export const noFacts = (): ArchivedFacts => ({
  ...{ spans: [], attributed: [], objectEvents: [], logs: [], mergelogs: [], removedEdges: [], cpids: [] },
  ...{ cascades: [], actors: [], changes: [], placements: [], sentSpans: [] },
  ...{ refusedMergelogs: [], refusedItems: [] },
})

export interface ArchiveReading {
  readonly facts: ArchivedFacts
  readonly upTo: ArchivePosition
  /** Whether there is more to read at once. */
  readonly hasMore: boolean
  /** How many refused mergelogs were dropped here, beyond their limit, before they were archived. */
  readonly lost: number
}

/** Reads the next rows for an archive; never writes. */
export interface ArchiveReader {
  /** The rows after a position, as of one moment; undefined if there are none. */
  after(position: ArchivePosition): ArchiveReading | undefined
}

export interface ArchivedEdge {
  readonly source: Cpid
  readonly cpid: Cpid
}

/** Reads what an archive may lack of a database: rows that were not archived yet, or changed since. */
export interface Unarchived {
  /** The position of its archive; with several, of the one that is furthest behind. Undefined without any. */
  position(): (Pick<ArchivePosition, 'arrival' | 'change'> & { readonly instance: string }) | undefined
  /** The newest `most` traces of cascades that changed after a change number, or of all if it is undefined. `isCut`: there are more. */
  cascades(change: number | undefined, most: number): { traces: ArchivedCascade[]; isCut: boolean }
  /** The CPIDs that spans got after a change number, by the arrival of the span. */
  attributed(change: number): ReadonlyMap<number, Cpid>
  /** The edges from these CPIDs to their sources (`above`) or targets (`below`), at most `most`. */
  edges(direction: 'above' | 'below', from: readonly Cpid[], most: number): ArchivedEdge[]
  /** The sources in the mergelog of a CPID; undefined without a mergelog. */
  sourcesOf(cpid: Cpid): readonly Cpid[] | undefined
  /** The time by which a CPID is sorted; undefined if the CPID is unknown. */
  momentOf(cpid: Cpid): CpidMoment | undefined
}

export interface CpidMoment {
  readonly isPruned: boolean
  /** The time of its mergelog. */
  readonly timeNs: UnixNanos | undefined
  readonly firstSeenMs: number
}
