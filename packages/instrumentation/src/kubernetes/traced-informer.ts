import type { Instrumentation } from '../instrumentation.ts'
import type { ObjectType } from '../objects/object-reference.ts'
import { attempt } from '../attempt.ts'
import type { ClientInformer, ClientObject } from './client-types.ts'
import { ObjectMemory } from './object-memory.ts'
import { withMethods } from './with-methods.ts'
import { workHere } from './work.ts'

/** What the objects of an informer are; lists do not say it of their items. */
export type InformedType = Required<Pick<ObjectType, 'apiVersion' | 'kind'>>

/**
 * The informer, with the type of its objects filled in; what a reconcile gets from its cache the reconcile has read, and what
 * is gone it has read too, if it went before. Give it its handlers after this.
 */
export function tracedInformer<T extends ClientObject, Informer extends ClientInformer<T>>(
  informer: Informer,
  type: InformedType,
  instrumentation: Instrumentation,
): Informer {
  const memory = new ObjectMemory(instrumentation, type)
  const see = (object: T): void => {
    attempt(() => {
      Object.assign(object, { apiVersion: type.apiVersion, kind: type.kind })
      memory.see(object)
    }, undefined)
  }
  informer.on('add', see)
  informer.on('update', see)
  informer.on('delete', (object) => {
    attempt(() => {
      Object.assign(object, { apiVersion: type.apiVersion, kind: type.kind })
      memory.bury(object)
    }, undefined)
  })
  const methods: Pick<ClientInformer<T>, 'get' | 'list'> = {
    get(name, namespace) {
      const object = informer.get(name, namespace)
      const read = object ?? memory.tombstone(name, namespace)
      if (read !== undefined) attempt(() => workHere()?.read(read, type), undefined)
      return object
    },
    list(namespace) {
      const objects = informer.list(namespace)
      const work = workHere()
      if (work !== undefined) for (const object of objects) attempt(() => work.read(object, type), undefined)
      return objects
    },
  }
  return withMethods<Informer>(informer, methods as Partial<Record<keyof Informer, unknown>>)
}
