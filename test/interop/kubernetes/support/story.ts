import type { Stage } from './stage.ts'
import type { ToldCascade } from './told.ts'

/** A resource of its own that a story needs. */
export interface Definition {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
}

/** What is to be seen of a cascade. */
export interface ExpectedCascade extends Partial<Omit<ToldCascade, 'services' | 'objects'>> {
  readonly began: string
  readonly services?: readonly string[] | EitherOf<readonly string[]>
  readonly objects?: Readonly<Record<string, number | EitherOf<number>>>
}

/** One of these, where several set about the same and chance decides who is first. */
export class EitherOf<T> {
  readonly $$typeof = Symbol.for('jest.asymmetricMatcher')
  readonly all: readonly T[]

  constructor(...all: readonly T[]) {
    this.all = all
  }

  asymmetricMatch(told: unknown): boolean {
    return this.all.some((one) => JSON.stringify(one) === JSON.stringify(told))
  }

  toString(): string {
    return 'EitherOf'
  }

  toAsymmetricMatcher(): string {
    return this.all.map((one) => JSON.stringify(one)).join(' or ')
  }
}

/** What people do in a namespace, and what they should see of it. */
export interface Story {
  /** Of its namespace. */
  readonly name: string
  /** What the cluster has to know before it is watched. */
  readonly defines?: readonly Definition[]
  readonly play: (stage: Stage) => Promise<void>
  /** In the order in which they begin. What depends on chance is not said, or what may be is said by EitherOf. */
  readonly cascades: readonly ExpectedCascade[]
  /** By resource, what its objects come from in the end, as Told.rootsOf() says it. */
  readonly roots?: Readonly<Record<string, readonly (readonly string[])[]>>
  /** Why it is told otherwise by versions alone, which do not say who wrote; it is not held to them then. */
  readonly needsWho?: string
}

/** Whose work it is that a Deployment's Pods come and go. */
export const ROLLOUT_SERVICES = [
  'deployment-controller',
  'kube-scheduler',
  'kubectl',
  'kubelet',
  'replicaset-controller',
]
/** What each write hangs below by which a new Deployment gets its Pods. */
export const ROLLOUT_BELOW = {
  'create replicasets': ['create deployments'],
  'create pods': ['create replicasets'],
  'bind pods': ['create pods'],
}
/** Whose work it is that Services list them. */
export const ENDPOINT_SERVICES = ['endpoint-controller', 'endpointslice-controller']

export const sorted = (...names: readonly string[]): string[] => [...names].sort()
