import type { ClusterObjects } from '../kubernetes/cluster-objects.ts'
import type { AskedHeld, HeldObject } from './observation-port.ts'

/** What was told and is not decided yet. */
export interface StoredObservationBatch {
  readonly id: number
  readonly cluster: string
  /** As it was handed over. */
  readonly body: Uint8Array
}

/** What inference keeps of clusters, inside a transaction. */
export interface InferenceStore {
  objectsOf(cluster: string): ClusterObjects
  /** Keeps what was told until it is decided; returns its number, which grows. */
  addTelling(cluster: string, body: Uint8Array): number
  /** What was told up to a number is decided. */
  removeTellings(cluster: string, upTo: number): void
  /** What is not decided, in the order in which it was told. */
  tellings(after: number, most: number): StoredObservationBatch[]
  moveTo(cluster: string, stream: string, position: string): void
  position(cluster: string, stream: string): string | undefined
  held(asked: AskedHeld): HeldObject[]
}
