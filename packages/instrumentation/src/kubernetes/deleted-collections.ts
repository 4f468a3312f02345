import type { TraceContext } from '../context/trace-context.ts'
import type { Instrumentation } from '../instrumentation.ts'
import { recordIn, type KubernetesObject } from '../objects/kubernetes-object.ts'
import { ownValue } from '../own-value.ts'
import type { RequestTarget } from './request-target.ts'

const MOST_COLLECTIONS = 1_024
/** How long after the answer to a deletecollection an informer may still deliver its deletions. */
const TOLD_MS = 10_000
const REQUIREMENT = /^(!?)\s*([^\s!=(),]+)\s*(?:(==?|!=)\s*([^\s,]*)|(in|notin)\s*\(([^)]*)\))?$/

/** A deletecollection request: which objects it deletes. */
interface Collection {
  readonly target: Pick<RequestTarget, 'apiVersion' | 'resource' | 'namespace'>
  /** The selectors of the request; empty for none. */
  readonly labels: string
  readonly fields: string
  /** When it was answered, in milliseconds since 1970; undefined while in flight. */
  answeredMs?: number
}

export function collectionOf(target: Collection['target'], url: string): Collection {
  const { searchParams } = new URL(url)
  return {
    target,
    labels: searchParams.get('labelSelector') ?? '',
    fields: searchParams.get('fieldSelector') ?? '',
  }
}

/** Whether the request deletes this object of its kind. Objects created after the answer are not. */
export function takes(
  { target, labels, fields, answeredMs }: Collection,
  { metadata }: KubernetesObject,
  nowMs: number,
): boolean {
  const { name, namespace, creationTimestamp, labels: own } = recordIn(metadata)
  if (target.namespace !== undefined && target.namespace !== namespace) return false
  if (answeredMs !== undefined) {
    const madeMs = new Date(creationTimestamp as string | Date).getTime()
    if (nowMs - answeredMs > TOLD_MS || madeMs > answeredMs) return false
  }
  const readable = new Map([
    ['metadata.name', name],
    ['metadata.namespace', namespace],
  ])
  return (
    requirementsOf(labels).every((one) => holds(one, (key) => ownValue(recordIn(own), key))) &&
    // Other field selectors can be evaluated only by the API server.
    requirementsOf(fields).every((one) => {
      const [, , key = ''] = REQUIREMENT.exec(one) ?? []
      return readable.has(key) && holds(one, (field) => readable.get(field))
    })
  )
}

function requirementsOf(selector: string): string[] {
  const each = selector.split(/,(?![^(]*\))/).map((one) => one.trim())
  return each.filter((one) => one !== '')
}

/** Whether a selector requirement matches; false if it cannot be parsed. */
function holds(requirement: string, valueOf: (key: string) => unknown): boolean {
  const [read, isNot, key = '', operator, value, set, values = ''] = REQUIREMENT.exec(requirement) ?? []
  if (read === undefined) return false
  const own = valueOf(key)
  if (isNot === '!') return own === undefined
  if (operator !== undefined) return (own === value) !== (operator === '!=')
  if (set === undefined) return own !== undefined
  const isAmong = values.split(',').some((one) => one.trim() === own)
  return isAmong !== (set === 'notin')
}

/** The deletecollection requests in flight or answered recently. Informers may deliver deletions before the answer. */
class DeletedCollections {
  #list: { readonly collection: Collection; readonly change: TraceContext }[] = []

  begin(collection: Collection, change: TraceContext): void {
    this.#list = [...this.#list.slice(1 - MOST_COLLECTIONS), { collection, change }]
  }

  /** Notes an answer. A refused request deletes nothing and is forgotten. */
  end(collection: Collection, isRefused: boolean, nowMs: number): void {
    collection.answeredMs = nowMs
    this.#list = this.#list.filter(({ collection: one }) => {
      const isOver = one.answeredMs !== undefined && nowMs - one.answeredMs > TOLD_MS
      return !isOver && !(isRefused && one === collection)
    })
  }

  /** The change of the newest request that deletes an object; `isOf` tests its kind. */
  of(
    object: KubernetesObject,
    isOf: (target: Collection['target']) => boolean,
    nowMs: number,
  ): TraceContext | undefined {
    return this.#list.findLast(
      ({ collection }) => isOf(collection.target) && takes(collection, object, nowMs),
    )?.change
  }
}

const deleted = new WeakMap<Instrumentation, DeletedCollections>()

export function deletedCollectionsOf(cluster: Instrumentation): DeletedCollections {
  const found = deleted.get(cluster) ?? new DeletedCollections()
  deleted.set(cluster, found)
  return found
}
