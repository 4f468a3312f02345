import { EVERY_GROUP, type KnownObject } from '../../model/inference-store.ts'
import { isCustomResource } from '../../model/kubernetes-objects.ts'
import { nanosOfMs } from '../../model/time-and-size.ts'
import { groupOf } from './named-objects.ts'
import type { ReadContext } from './read-context.ts'
import { CONTROLLER } from './writers.ts'

/**
 * Kinds in the API groups of what a controller reconciles: those that it does not reconcile itself, such as its settings, or all of them
 * for an object that belongs to nothing that it reconciles. For an account that reconciles nothing yet and is called a controller: the
 * kinds that nobody reconciles.
 */
export function kindsBeside({
  write,
  by,
  objects,
  isPlainController,
  primaries: known,
}: ReadContext): string[] {
  const primaries = objects.primariesOf(by)
  if (isPlainController)
    return CONTROLLER.test(by)
      ? objects.kindsOf(EVERY_GROUP).filter((kind) => objects.lookingAfter(kind).length === 0)
      : []
  const isOfNone = known().length === 0 && !primaries.includes(write.object.resource)
  const groups = new Set(primaries.flatMap((resource) => objects.groupsOf(resource)))
  return [...groups]
    .flatMap((group) => objects.kindsOf(group))
    .filter((one) => isOfNone || !primaries.includes(one))
}

/** Other kinds of a custom resource's API group that its controller reconciles as well: often nothing else relates the objects. */
export function siblingKinds({ write: { object }, part, by, objects }: ReadContext): string[] {
  const primaries = objects.primariesOf(by)
  if (part === 'creation' || part === 'deletion' || !isCustomResource(object.apiVersion)) return []
  if (!primaries.includes(object.resource)) return []
  return objects
    .kindsOf(groupOf(object))
    .filter((kind) => kind !== object.resource && primaries.includes(kind))
}

/** How soon after a deletion a controller writes what follows from it. */
const FOLLOWS_WITHIN_NS = nanosOfMs(3_000)

/** Whether an object was just deleted, and the writer has not acted on that yet. */
export function wasJustDeleted(
  { identity, versions: [end] }: KnownObject,
  { write, by, objects }: ReadContext,
): boolean {
  if (end?.gone !== true || end.version <= objects.lastActed(identity.uid, by)) return false
  return write.request === undefined || (end.readableNs ?? 0n) + FOLLOWS_WITHIN_NS > write.request.startNs
}
