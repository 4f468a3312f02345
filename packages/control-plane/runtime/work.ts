import type { KubernetesObject } from 'causeway-instrumentation'
import type { DeleteOptions } from '../api/api-client.ts'
import type { Draft, KubeObject, Resource, Resources } from '../api/kube-objects.ts'

/** One piece of work of a controller: it follows from what it observes, and so does what it writes. */
export interface Work {
  /** The work is an operator's and follows from nothing else. */
  begin(reason: string, object: KubernetesObject): void
  /** The work follows from what these objects say. */
  observe(...objects: readonly (KubeObject | undefined)[]): void
  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]>
  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]>
  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]>
  delete<R extends Resource>(resource: R, object: Resources[R], gracePeriodSeconds?: number): Promise<void>
  /** A part of the work that takes time. */
  step(name: string, play: () => Promise<void>): Promise<void>
}

/** Does a piece of work, such as a reconcile. */
export type DoWork = <T>(name: string, play: (work: Work) => Promise<T>) => Promise<T>

/** Deletes this very object, not one that has its name by then. */
export function deleteOptions({ metadata: { uid } }: KubeObject, gracePeriodSeconds?: number): DeleteOptions {
  return { uid, ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) }
}
