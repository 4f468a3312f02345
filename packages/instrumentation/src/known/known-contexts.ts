import type { TraceContext } from '../context/trace-context.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import { BoundedMap } from './bounded-map.ts'

const MOST_VERSIONS = 16_384
const MOST_DELETIONS = 4_096
/** For informers that nobody uses any more; those in use hold far more of each object. */
const MOST_CURRENT = 1_048_576

interface Current {
  readonly version: string | undefined
  readonly context: TraceContext
}

/**
 * What this process knows of the changes of objects beside what their annotations say: of a version whose annotations the
 * API server left as they were, and of objects that are being deleted.
 */
export class KnownContexts {
  /** Of the newest version that an informer holds, by uid: as many as there are objects. */
  readonly #current = new BoundedMap<string, Current>(MOST_CURRENT)
  readonly #versions = new BoundedMap<string, TraceContext>(MOST_VERSIONS)
  readonly #deletions = new BoundedMap<string, TraceContext>(MOST_DELETIONS)
  /** Of namespaces that end, by name. */
  readonly #ends = new BoundedMap<string, TraceContext>(MOST_DELETIONS)

  /** Of this very version, else of the object's deletion. Nobody is told of it yet. */
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

  /** Of the version that an informer holds. */
  ofCurrent(uid: string): TraceContext | undefined {
    return this.#current.get(uid)?.context
  }

  ofDeletion(uid: string): TraceContext | undefined {
    return this.#deletions.get(uid)
  }

  /** False where the object says no uid or no version. */
  noteVersion(object: KubernetesObject, context: TraceContext): boolean {
    const { uid, resourceVersion } = object.metadata ?? {}
    if (uid === undefined || resourceVersion === undefined) return false
    if (this.#current.get(uid)?.version === resourceVersion)
      this.#current.set(uid, { version: resourceVersion, context })
    else this.#versions.set(keyOf(uid, resourceVersion), context)
    return true
  }

  /** The version that an informer holds from now on; without a context where the object itself says it. The one before is known for a while. */
  noteCurrent({ metadata }: KubernetesObject, context: TraceContext | undefined): void {
    const { uid, resourceVersion } = metadata ?? {}
    if (uid === undefined) return
    this.forgetCurrent(uid)
    if (context !== undefined) this.#current.set(uid, { version: resourceVersion, context })
  }

  /** No informer holds the object any more. */
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

  /** Of the end of a namespace; undefined where nobody follows namespaces, or it does not end. */
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
