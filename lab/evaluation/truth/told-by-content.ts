/** What is looked at of an object that several steps may have made. */
export interface MadeObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly deletionTimestamp?: string
    readonly annotations?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly uid: string }[]
  }
  readonly spec?: {
    readonly template?: { readonly spec: { readonly containers: readonly { readonly image: string }[] } }
  }
}

interface Wanting {
  readonly id: string
  readonly desc: string
}

const DESIRED = 'deployment.kubernetes.io/desired-replicas'

/**
 * Of two steps that overwrite each other, the one whose content an object has: its image, or how many its Deployment was to have when its
 * ReplicaSet was made. Only of ReplicaSets as they were made, and of Pods that were made while theirs was so, until those go.
 */
export class JudgeByContent {
  /** The first version of each ReplicaSet, and since when it wants something else, by its uid. */
  readonly #sets = new Map<string, { readonly made: MadeObject; changedAt: number }>()
  /** When each Pod was made. */
  readonly #pods = new Map<string, number>()

  constructor(versions: readonly MadeObject[]) {
    for (const object of versions) {
      const { uid, generation, resourceVersion } = object.metadata
      const version = Number(resourceVersion)
      if (object.kind === 'Pod') this.#pods.set(uid, Math.min(version, this.#pods.get(uid) ?? Infinity))
      if (object.kind !== 'ReplicaSet') continue
      const set = this.#sets.get(uid)
      if (set === undefined) this.#sets.set(uid, { made: object, changedAt: Infinity })
      else if (generation !== 1) set.changedAt = Math.min(version, set.changedAt)
    }
  }

  /** Undefined where its content does not tell. */
  stepOf(object: MadeObject, steps: readonly Wanting[]): string | undefined {
    const { name, uid, generation, deletionTimestamp, ownerReferences = [] } = object.metadata
    const isPod = object.kind === 'Pod'
    const owner = isPod ? (ownerReferences[0]?.uid ?? '') : uid
    const set = this.#sets.get(owner)
    if (set === undefined || deletionTimestamp !== undefined || (!isPod && generation !== 1)) return undefined
    const { made, changedAt } = set
    if (isPod && (this.#pods.get(uid) ?? Infinity) > changedAt) return undefined
    const image = made.spec?.template?.spec.containers[0]?.image
    const desired = Number(made.metadata.annotations?.[DESIRED])
    const fitting = steps.filter(({ desc }) => {
      const [, given, of] = /^image (\S+) of (\S+) at once/.exec(desc) ?? []
      if (of !== undefined) return name.startsWith(`${of}-`) && given === image
      const [, created, so, scaled, to] = /^create (\S+) x(\d+)$|^scale (\S+) to (\d+) /.exec(desc) ?? []
      return name.startsWith(`${created ?? scaled ?? ' '}-`) && Number(so ?? to) === desired
    })
    return fitting.length === 1 ? fitting[0]?.id : undefined
  }
}
