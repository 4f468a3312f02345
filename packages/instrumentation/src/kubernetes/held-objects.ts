import type { Instrumentation } from '../instrumentation.ts'
import { BoundedMap } from '../known/bounded-map.ts'
import type { KubernetesObject } from '../objects/kubernetes-object.ts'
import type { RequestTarget } from './request-target.ts'

const MOST_WRITTEN = 16_384

/** The objects that an informer holds. */
interface Holder {
  isOf(target: RequestTarget): boolean
  held(name: string, namespace: string | undefined): KubernetesObject | undefined
}

/** The objects of a cluster that are known without a request: those in informers, and the last versions that this process wrote. */
class HeldObjects {
  /** Weak, since the end of an informer is not reported. */
  #holders: WeakRef<Holder>[] = []
  readonly #written = new BoundedMap<string, KubernetesObject>(MOST_WRITTEN)

  follow(holder: Holder): void {
    this.#holders = [...this.#holders.filter((one) => one.deref() !== undefined), new WeakRef(holder)]
  }

  noteWritten(target: RequestTarget, written: KubernetesObject): void {
    const { name, namespace } = { ...target, ...written.metadata }
    this.#written.set(placeOf({ ...target, name, namespace }), written)
  }

  forgetWritten(target: RequestTarget): void {
    this.#written.delete(placeOf(target))
  }

  /** The version that a write without `resourceVersion` overwrites. An object missing from its informer is gone. */
  overwritten(target: RequestTarget): KubernetesObject | undefined {
    const { isFollowed, held, written } = this.#known(target)
    if (held === undefined) return isFollowed ? undefined : written
    return written !== undefined && isLaterOf(held, written) ? written : held
  }

  /** The version that an informer holds; undefined if this process wrote a later one. */
  newest(target: RequestTarget): KubernetesObject | undefined {
    const { held, written } = this.#known(target)
    return held !== undefined && written !== undefined && isLaterOf(held, written) ? undefined : held
  }

  /** The versions that the answer may have when a write changes nothing. */
  versionsOf(target: RequestTarget): readonly string[] {
    const { held, written } = this.#known(target)
    return [held, written].flatMap((one) => one?.metadata?.resourceVersion ?? [])
  }

  #known(target: RequestTarget) {
    const { name, namespace } = target
    const holders = this.#holders.map((one) => one.deref()).filter((one) => one?.isOf(target) === true)
    const held = name === undefined ? undefined : holders.map((one) => one?.held(name, namespace))
    return {
      isFollowed: holders.length > 0,
      held: held?.find((one) => one !== undefined),
      written: this.#written.get(placeOf(target)),
    }
  }
}

const held = new WeakMap<Instrumentation, HeldObjects>()

export function heldObjectsOf(cluster: Instrumentation): HeldObjects {
  const found = held.get(cluster) ?? new HeldObjects()
  held.set(cluster, found)
  return found
}

function isLaterOf({ metadata: held }: KubernetesObject, { metadata: written }: KubernetesObject): boolean {
  return written?.uid === held?.uid && Number(written?.resourceVersion) > Number(held?.resourceVersion)
}

function placeOf({ apiVersion, resource, namespace, name }: RequestTarget): string {
  return [apiVersion, resource, namespace, name].join('/')
}
