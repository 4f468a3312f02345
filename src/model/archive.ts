import type { Cpid } from './merge-graph.ts'
import type { ScopeEnvelopes } from './outbox.ts'
import type { UnixNanos } from './time-and-size.ts'

/** How far an archive has come in each of the lines that it reads; what is past all archives may be forgotten. */
export interface ArchivePosition {
  /** Spans, log records and mergelogs, by arrival. */
  readonly arrival: number
  /** Where spans were sent. */
  readonly decision: number
  /** What changed of CPIDs, cascades and spans. */
  readonly change: number
  readonly refusedMergelog: number
  readonly refusedItem: number
  /** The newest version that was given to a fact: never less than the last, whatever the clock does. */
  readonly version: number
}

/** Where an archive starts from, and by what it is known there. */
export interface KeptArchive {
  readonly position: ArchivePosition
  /** Tells this database from another one that writes under the same name; 32 hexadecimal digits. */
  readonly instance: string
}

/** Where the archives stand, inside a transaction. */
export interface ArchiveStore {
  /** Keeps exactly these archives: a new one gets everything that is stored, a removed one is forgotten. */
  keep(names: readonly string[]): Map<string, KeptArchive>
  moveTo(name: string, position: ArchivePosition, refused: number): void
}

interface Sent {
  readonly service: string | null
  readonly cluster: string | null
}

/** A reference to an object, taken apart. */
interface NamedObject {
  readonly object: string | null
  readonly objectUid: string | null
  readonly objectVersion: string | null
}

export interface ArchivedSpan extends Sent {
  readonly arrival: number
  /** The number of its scope here. */
  readonly scope: number
  readonly cpid: Cpid | null
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 0 where there is none. */
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
  /** The span read or wrote objects. */
  readonly namesObjects: boolean
  /** Of what it says: the same in every archive, from whichever Causeway. */
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

/** An edge of a mergelog that another one has replaced. */
interface RemovedEdge {
  readonly source: Cpid
  readonly cpid: Cpid
  /** Of the mergelog that stands. */
  readonly cluster: string | null
  readonly arrivedMs: number
}

export interface ArchivedCpid extends Sent, NamedObject {
  readonly cpid: Cpid
  readonly isPruned: boolean
  readonly isExplained: boolean
  readonly firstSeenMs: number
  /** Of its mergelog; null without one. */
  readonly timeNs: UnixNanos | null
  readonly isRoot: boolean
  readonly reason: string | null
}

/** One trace of a cascade. */
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
  /** Some of its times cannot be. */
  readonly hasDoubtfulTimes: boolean
  /** The object of the root's mergelog as it was written. */
  readonly reference: string | null
  /** Of the actors here the one that began it. */
  readonly beganBy: string | null
  /** What filters ask for: who takes part, who wrote, and where. */
  readonly serviceNames: readonly string[]
  readonly actors: readonly string[]
  readonly namespaces: readonly string[]
  /** Its root was taken for one until its mergelog came. */
  readonly isGone: boolean
}

export interface InTrace {
  readonly root: Cpid
  readonly episode: number
  /** Of the cascade. */
  readonly inTrace: string
  /** When the trace begins. */
  readonly firstNs: UnixNanos
  /** Whose mergelog began the cascade. */
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
  /** When what it waited for ended. */
  readonly causeEndNs: UnixNanos | null
  readonly isCopy: boolean
  readonly isActivity: boolean
}

/** A span as backends get it. */
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

/** What is to go into an archive next, as it was at one moment. */
export interface ArchivedFacts {
  readonly spans: ArchivedSpan[]
  /** Spans that got a CPID since: the archive may still have them without one. */
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
  /** There is more to read at once. */
  readonly hasMore: boolean
  /** Refused mergelogs that were dropped here, being too many, before the archive got them. */
  readonly lost: number
}

/** Reads what is to go into an archive; it never writes. */
export interface ArchiveReader {
  /** What comes after a position, as of one moment; undefined when there is nothing. */
  after(position: ArchivePosition): ArchiveReading | undefined
}

export interface ArchivedEdge {
  readonly source: Cpid
  readonly cpid: Cpid
}

/** Reads from a database what an archive may lack: what was not written to it yet, or has changed since. */
export interface Unarchived {
  /** How far its archive has come; with several, the one that is furthest behind. Undefined without any. */
  position(): (Pick<ArchivePosition, 'arrival' | 'change'> & { readonly instance: string }) | undefined
  /**
   * The traces of cascades that changed after a position, at most `most` of them, the newest; without one, of all. `isCut`: there
   * are more.
   */
  cascades(change: number | undefined, most: number): { traces: ArchivedCascade[]; isCut: boolean }
  /** The CPIDs that spans have been given after a position, by the arrival of the span. */
  attributed(change: number): ReadonlyMap<number, Cpid>
  /** The edges by which something is reached from these CPIDs, at most `most`. */
  edges(direction: 'above' | 'below', from: readonly Cpid[], most: number): ArchivedEdge[]
  /** Of the mergelog of a CPID; undefined where there is none. */
  sourcesOf(cpid: Cpid): readonly Cpid[] | undefined
  /** What stands for its time; undefined for one that was never sighted. */
  momentOf(cpid: Cpid): CpidMoment | undefined
}

export interface CpidMoment {
  readonly isPruned: boolean
  /** Of its mergelog. */
  readonly timeNs: UnixNanos | undefined
  readonly firstSeenMs: number
}
