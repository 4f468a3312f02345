import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** The two kinds of object that the sample is about. */
export interface Settings {
  apiVersion: 'v1'
  kind: 'ConfigMap'
  metadata: Metadata
  data: { image: string }
}

export interface Deployment {
  apiVersion: 'apps/v1'
  kind: 'Deployment'
  metadata: Metadata
  spec: { image: string }
}

export interface Metadata {
  name: string
  namespace: string
  uid?: string
  resourceVersion?: string
  annotations?: Record<string, string>
}

const ROUND_TRIP_MS = 5

/** What a controller needs of an API server: objects to read and write, and word of every change. */
export class Cluster {
  settings: Settings | undefined
  deployment: Deployment | undefined
  #version = 0

  /** Stores an object, and gives it back as stored. */
  async write<T extends Settings | Deployment>(object: T): Promise<T> {
    await sleep(ROUND_TRIP_MS)
    this.#version++
    const { uid = randomUUID() } = object.metadata
    const written = {
      ...object,
      metadata: { ...object.metadata, uid, resourceVersion: String(this.#version) },
    }
    if (written.kind === 'ConfigMap') this.settings = written
    else this.deployment = written
    return written
  }

  /** Reconciles until that changes nothing more, as a controller does after every change it is told of. */
  async settle(reconcile: () => Promise<void>): Promise<void> {
    for (let seen = -1; seen < this.#version;) {
      seen = this.#version
      await reconcile()
    }
  }
}
