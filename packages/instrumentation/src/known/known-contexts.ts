import type { TraceContext } from '../context/trace-context.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import { BoundedMap } from './bounded-map.ts'

const MOST_VERSIONS = 16_384
const MOST_DELETIONS = 4_096

/**
 * What this process knows of the changes of objects beside what their annotations say: of a version whose annotations the
 * API server left as they were, and of objects that are being deleted.
 */
export class KnownContexts {
  readonly #versions = new BoundedMap<string, TraceContext>(MOST_VERSIONS)
  readonly #deletions = new BoundedMap<string, TraceContext>(MOST_DELETIONS)

  readonly #untold = new WeakMap<TraceContext, () => void>()

  /** Of this very version, else of the object's deletion. Nobody is told of it yet. */
  of(object: KubernetesObject | null | undefined): TraceContext | undefined {
    if (this.#versions.size === 0 && this.#deletions.size === 0) return undefined
    const uid = object?.metadata?.uid
    if (uid === undefined) return undefined
    return this.ofVersion(object) ?? this.#deletions.get(uid)
  }

  /** Has a change that is noted here told when something comes from it. */
  tellOnUse(context: TraceContext, tell: () => void): void {
    this.#untold.set(context, tell)
  }

  ofVersion(object: KubernetesObject | null | undefined): TraceContext | undefined {
    const key = keyOf(object)
    return key === undefined ? undefined : this.#versions.get(key)
  }

  ofDeletion(uid: string): TraceContext | undefined {
    return this.#deletions.get(uid)
  }

  /** False where the object says no uid or no version. */
  noteVersion(object: KubernetesObject, context: TraceContext): boolean {
    const key = keyOf(object)
    if (key !== undefined) this.#versions.set(key, context)
    return key !== undefined
  }

  noteDeletion(uid: string, context: TraceContext): void {
    this.#deletions.set(uid, context)
  }

  forgetDeletion(uid: string): void {
    this.#deletions.delete(uid)
  }

  /** Something comes from this. */
  use<Context extends TraceContext | undefined>(context: Context): Context {
    if (context === undefined) return context
    const tell = this.#untold.get(context)
    this.#untold.delete(context)
    tell?.()
    return context
  }
}

function keyOf(object: KubernetesObject | null | undefined): string | undefined {
  const { uid, resourceVersion } = object?.metadata ?? {}
  return uid === undefined || resourceVersion === undefined ? undefined : `${uid}/${resourceVersion}`
}
