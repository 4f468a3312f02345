import type { UnixNanos } from '../clock.ts'

/** A version of an object that a span read or wrote. */
export interface ObjectVersion {
  readonly object: number
  readonly version: bigint
  readonly uid: string | undefined
}

/** A span that wrote something. */
export interface Writer {
  readonly row: number
  readonly endNs: UnixNanos
}

/** What linking asks of the objects that spans read and wrote, and notes of them. */
export interface LinkedObjects {
  /** What a span read, or wrote. */
  versions(row: number, role: 'observed' | 'wrote'): ObjectVersion[]
  /** A linked span that wrote exactly this version. */
  writerOf(version: ObjectVersion): number | undefined
  /** Linked spans that wrote the object at a lower version, of the same uid where both give one: highest first, at most so many. */
  writersBelow(version: ObjectVersion, most: number): { row: number; version: bigint }[]
  /** Notes that a span sent into a trace of the cascade wrote these. */
  addWrites(cascade: number, span: Writer, versions: readonly ObjectVersion[]): void
  /** Notes that the cascade is about something in the namespace of this object, which a reference names. */
  addNamespace(cascade: number, reference: string): void
  /**
   * Spans sent into the cascade's traces that wrote the object at that version or lower, of the same uid where both give one:
   * highest version first, ties by what ends last. At most `most` writes are looked at.
   */
  writersIn(cascade: number, version: ObjectVersion, most: number): number[]
  /** Notes that the span waits for the version's writer; returns since when that is missed, in up time. */
  awaitWriter(version: ObjectVersion, row: number): number
  /** Who waits for the writer of a version; they wait for it no more. */
  takeObservers(version: ObjectVersion): number[]
  /** True when the span wrote exactly this version. */
  wrote(row: number, version: ObjectVersion): boolean
  /** True the first time it is asked, as far as is remembered. */
  isFirstToObserve(service: string, version: ObjectVersion): boolean
  /** `<apiVersion>/<resource>` of an object. */
  kindOf(object: number): string
}
