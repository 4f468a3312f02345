import type { TraceContext } from '../context/trace-context.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import { BoundedMap } from './bounded-map.ts'

const MOST_VERSIONS = 16_384
const MOST_DELETIONS = 4_096
/** Bounds the entries of informers that are no longer used; an informer in use itself holds far more per object. */
const MOST_CURRENT = 1_048_576

interface Current {
  readonly version: string | undefined
  readonly context: TraceContext
}

/**
 * Trace contexts that this process remembers because annotations lack them: of versions whose annotations the API server left
 * unchanged, and of objects that are being deleted.
 */
export class KnownContexts {
  /** The context of the newest version in an informer, by uid. */
  readonly #current = new BoundedMap<string, Current>(MOST_CURRENT)
  readonly #versions = new BoundedMap<string, TraceContext>(MOST_VERSIONS)
  readonly #deletions = new BoundedMap<string, TraceContext>(MOST_DELETIONS)
  /** The deletions of terminating namespaces, by name. */
  readonly #ends = new BoundedMap<string, TraceContext>(MOST_DELETIONS)

  /** The context of exactly this version, else of the object's deletion. Does not report it. */
  of(object: KubernetesObject | null | undefined): TraceContext | undefined {
    const uid = object?.metadata?.uid
    if (uid === undefined) return undefined
    return this.ofVersion(object) ?? this.#deletions.get(uid)
  }

  ofVersion(object: KubernetesObject | null | undefined): TraceContext | undefined {
    const { uid, resourceVersion } = object?.metadata ?? {}
    if (uid === undefined || resourceVersion === undefined) return undefined
    const current = this.#current.get(uid)
    if (current?.version === resourceVersion) return current.context
    return this.#versions.get(keyOf(uid, resourceVersion))
  }

  /** The context of the version that an informer holds. */
  ofCurrent(uid: string): TraceContext | undefined {
    return this.#current.get(uid)?.context
  }

  ofDeletion(uid: string): TraceContext | undefined {
    return this.#deletions.get(uid)
  }

  /** False when the object has no uid or no resourceVersion. */
  noteVersion(object: KubernetesObject, context: TraceContext): boolean {
    const { uid, resourceVersion } = object.metadata ?? {}
    if (uid === undefined || resourceVersion === undefined) return false
    if (this.#current.get(uid)?.version === resourceVersion)
      this.#current.set(uid, { version: resourceVersion, context })
    else this.#versions.set(keyOf(uid, resourceVersion), context)
    return true
  }

  /** Sets the version that an informer holds, without a context if its annotations have it. The previous one is remembered for a while. */
  noteCurrent({ metadata }: KubernetesObject, context: TraceContext | undefined): void {
    const { uid, resourceVersion } = metadata ?? {}
    if (uid === undefined) return
    this.forgetCurrent(uid)
    if (context !== undefined) this.#current.set(uid, { version: resourceVersion, context })
  }

  /** Called when no informer holds the object any more. */
  forgetCurrent(uid: string): void {
    const before = this.#current.get(uid)
    if (before === undefined) return
    this.#current.delete(uid)
    if (before.version !== undefined) this.#versions.set(keyOf(uid, before.version), before.context)
  }

  noteDeletion(uid: string, context: TraceContext): void {
    this.#deletions.set(uid, context)
  }

  forgetDeletion(uid: string): void {
    this.#deletions.delete(uid)
  }

  /** The deletion of a namespace; undefined when it is not terminating or no informer follows namespaces. */
  ofEnd(namespace: string): TraceContext | undefined {
    return this.#ends.get(namespace)
  }

  noteEnd(namespace: string, context: TraceContext | undefined): void {
    if (context === undefined) this.#ends.delete(namespace)
    else this.#ends.set(namespace, context)
  }
}

function keyOf(uid: string, version: string): string {
  return `${uid}/${version}`
}
