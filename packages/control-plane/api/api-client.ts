import type { Draft, KubeObject, Resource, Resources } from './kube-objects.ts'

export interface Listing<T extends KubeObject> {
  /** The version of the whole store when the list was made: where a watch can begin. */
  resourceVersion: string
  items: T[]
}

export interface WatchEvent<T extends KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** With DELETED: the object as it was last. */
  object: T
}

/** Where an object is found. */
export interface Location {
  name: string
  namespace: string
}

export interface DeleteOptions {
  gracePeriodSeconds?: number
  uid?: string
}

/**
 * What a controller asks of an API server. Everything may reject with an ApiError. Objects are as they were at one
 * version; nobody changes them.
 */
export interface ApiClient {
  get<R extends Resource>(resource: R, at: Location): Promise<Resources[R]>
  list<R extends Resource>(resource: R): Promise<Listing<Resources[R]>>
  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]>
  /** Replaces all but the status. Rejects with Conflict when the object is no longer at the version it was read at. */
  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]>
  /** Replaces the status and the annotations, as the status subresource of built-in kinds does. */
  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]>
  /**
   * A Pod that is on a node only gets a deletionTimestamp, until it is deleted without grace. With a uid it rejects with
   * Conflict when another object has that name by now.
   */
  delete(resource: Resource, at: Location, options?: DeleteOptions): Promise<void>
  /**
   * What happens after a version. Ends when the connection drops; rejects with Expired when the version is too old, and
   * then the watcher has to list again.
   */
  watch<R extends Resource>(
    resource: R,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<Resources[R]>>
}
