import type { KubeObject } from '../../../packages/control-plane/api/kube-objects.ts'
import type { AcceptedWrite } from '../../../packages/control-plane/api/local-client.ts'
import { hasSame } from '../../../packages/control-plane/api/same-content.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'

/** A write as a cluster would show it whose controllers carry no CPIDs. */
export interface ShownWrite {
  readonly component: string
  readonly accepted: AcceptedWrite
  readonly version: number
  /** The object as a real API server would show it. */
  readonly object: JsonObject
  readonly gone: boolean
}

export interface Shown {
  /** In order of their versions. */
  readonly writes: readonly ShownWrite[]
  /**
   * Versions that nothing but a CPID made, with that before them: there are none in a cluster that nobody instrumented. Such
   * is the mark that an instrumented component puts on what it is about to delete.
   */
  readonly left: ReadonlyMap<string, number | undefined>
}

const TRACING = 'causeway.io/'
/** Under which name managedFields show what each component writes; a binding and a deletion leave no entry. */
const MANAGERS: Readonly<Record<string, string>> = { kubectl: 'kubectl-edit', kubelet: 'kubelet' }

/** What all components wrote, without CPIDs, and with what a real API server adds: managedFields, conditions, controllers. */
export function asShown(all: readonly (readonly [component: string, write: AcceptedWrite])[]): Shown {
  const left = new Map<string, number | undefined>()
  const last = new Map<string, { version: number; content: object; managers: JsonObject[] }>()
  const writes: ShownWrite[] = []
  const made = new Set<string>()
  const versionOf = ({ metadata }: KubeObject) => Number(metadata.resourceVersion)
  const ordered = [...all].sort(([, one], [, other]) => versionOf(one.object) - versionOf(other.object))
  for (const [component, accepted] of ordered) {
    const { object, did, resource } = accepted
    if (resource === 'metrics.k8s.io/v1beta1/pods') continue
    const { uid, resourceVersion } = object.metadata
    if (made.has(resourceVersion)) continue
    made.add(resourceVersion)
    const before = last.get(uid)
    const content = contentOf(object)
    const gone = did === 'delete' && object.metadata.deletionTimestamp === undefined
    const isGone = gone || (did === 'delete' && accepted.options.gracePeriodSeconds === 0)
    if (before !== undefined && !isGone && hasSame(before.content, content)) {
      left.set(`${uid}@${resourceVersion}`, before.version)
      continue
    }
    const managers = managersAfter(before?.managers ?? [], component, accepted)
    const version = Number(resourceVersion)
    last.set(uid, { version, content, managers })
    const metadata = {
      ...content.metadata,
      ...(did === 'delete' && resource === 'v1/pods' && going(accepted, isGone)),
      resourceVersion,
      managedFields: managers,
    }
    writes.push({ component, accepted, version, object: asJson({ ...content, metadata }), gone: isGone })
  }
  return { writes, left }
}

/** A Pod that somebody deletes says when it is to go and after how long: at once where it has no node, or where a kubelet says so. */
function going({ committedMs, object }: AcceptedWrite, isGone: boolean): object {
  return {
    deletionTimestamp: object.metadata.deletionTimestamp ?? new Date(committedMs).toISOString(),
    deletionGracePeriodSeconds: isGone ? 0 : 30,
  }
}

/** The object without CPIDs, in the shape that real controllers and kubelets give it. */
function contentOf(object: KubeObject): KubeObject {
  const { annotations = {}, ownerReferences, ...metadata } = object.metadata
  const kept = Object.entries(annotations).filter(([key]) => !key.startsWith(TRACING))
  const owners = ownerReferences?.map((owner) => ({ ...owner, controller: true }))
  const status = object.status as { phase?: string } | undefined
  const ready = { type: 'Ready', status: status?.phase === 'Running' ? 'True' : 'False' }
  return {
    ...object,
    ...(object.kind === 'Pod' && { status: { ...status, conditions: [ready] } }),
    metadata: {
      ...metadata,
      resourceVersion: '',
      ...(kept.length > 0 && { annotations: Object.fromEntries(kept) }),
      ...(owners && { ownerReferences: owners }),
    },
  }
}

function managersAfter(known: readonly JsonObject[], component: string, write: AcceptedWrite): JsonObject[] {
  if (write.did === 'delete' || component === 'scheduler') return [...known]
  const manager =
    component === 'kubectl' && write.did === 'create'
      ? 'kubectl-create'
      : (MANAGERS[component] ?? 'kube-controller-manager')
  const subresource = write.did === 'updateStatus' ? 'status' : ''
  const others = known.filter((one) => one['manager'] !== manager || one['subresource'] !== subresource)
  const time = new Date(write.committedMs).toISOString().replace(/\.\d+/, '')
  return [...others, { manager, operation: 'Update', subresource, time }]
}

export function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject
}
