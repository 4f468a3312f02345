import { deserialize, serialize } from 'node:v8'
import type { ObservationBatch } from './observation-batch.ts'

type Told = ObservationBatch['observations']

/** What was told, as it is handed from thread to thread and kept until it is decided; empty where nothing was. */
export function bytesOfTold(told: Told): Uint8Array<ArrayBuffer> {
  return told.length === 0 ? new Uint8Array() : new Uint8Array(serialize(told))
}

/** Throws where the bytes are none of `bytesOfTold`. */
export function toldOfBytes(bytes: Uint8Array): Told {
  const told: unknown = deserialize(bytes)
  if (!Array.isArray(told)) throw new Error('what was told of a cluster cannot be read')
  return told as Told
}
