import type { Instrumentation } from '../instrumentation.ts'
import { kindOf, type ObjectType } from '../objects/object-reference.ts'
import { attempt } from '../attempt.ts'
import type { ClientInformer, ClientObject } from './client-types.ts'
import { ObjectMemory } from './object-memory.ts'
import { noteCluster } from './object-clusters.ts'
import { withMethods } from './with-methods.ts'
import { currentWork } from './work.ts'

/**
 * Traces an informer: fills in the missing type of its objects, and notes objects that a reconcile gets from its cache as read, also
 * deleted ones. Add handlers after this.
 */
export function tracedInformer<T extends ClientObject, Informer extends ClientInformer<T>>(
  informer: Informer,
  type: ObjectType,
  instrumentation: Instrumentation,
): Informer {
  const memory = new ObjectMemory(instrumentation, type)
  const see = (object: T): void => {
    attempt(() => {
      fillIn(object, type)
      noteCluster(object, instrumentation)
      memory.see(object)
    }, undefined)
  }
  informer.on('add', see)
  informer.on('update', see)
  informer.on('delete', (object) => {
    attempt(() => {
      fillIn(object, type)
      noteCluster(object, instrumentation)
      memory.noteDeleted(object)
    }, undefined)
  })
  const methods: Pick<ClientInformer<T>, 'get' | 'list'> = {
    get(name, namespace) {
      const object = informer.get(name, namespace)
      const read = object ?? memory.tombstone(name, namespace)
      if (read !== undefined) attempt(() => currentWork()?.read(read, type, instrumentation), undefined)
      return object
    },
    list(namespace) {
      const objects = informer.list(namespace)
      const work = currentWork()
      if (work !== undefined)
        for (const object of objects) attempt(() => work.read(object, type, instrumentation), undefined)
      return objects
    },
  }
  return withMethods<Informer>(informer, methods as Partial<Record<keyof Informer, unknown>>)
}

/** Sets apiVersion and kind, which items of typed lists lack, unlike objects of a watch. */
export function fillIn(object: ClientObject, { apiVersion, kind }: ObjectType): void {
  if (object.apiVersion === undefined && apiVersion !== undefined) Object.assign(object, { apiVersion })
  if (object.kind === undefined && kind !== undefined)
    Object.assign(object, { kind: kindOf(undefined, { kind }) })
}
