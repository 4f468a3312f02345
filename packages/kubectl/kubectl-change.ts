import { type Json, numberIn, objectIn, textIn } from '../../src/kube/objects/object-json.ts'
import { type Cpid, parseCpid } from '../../src/model/merge-graph.ts'
import type { UnixNanos } from '../../src/model/time-and-size.ts'
import { type HeldField, heldFields } from './overwritten-fields.ts'
import type { Annotations } from './annotate-body.ts'
import type { WriteTarget } from './write-target.ts'

type ObjectPath = Pick<WriteTarget, 'apiVersion' | 'resource' | 'namespace' | 'name'>

/** The root change that one command of kubectl is. */
export interface KubectlChange {
  readonly cpid: Cpid
  /** 32 and 16 hex digits: of the command's span. */
  readonly traceId: string
  readonly spanId: string
  readonly startNs: UnixNanos
  /** Why, in the words of whoever ran it, or which command. */
  readonly reason: string
  /** References of what was written, with the versions that came of it, in order. */
  readonly wrote: string[]
  /** How many versions came of it, those too that are not named. */
  writes: number
  /** What was written, by references without versions; of as many writes as are named. */
  readonly written: Set<string>
  /** How often an object was marked as written again. */
  marks: number
  /** Merges with changes that no controller had acted on yet, by the path of the object. */
  readonly merges: Map<string, ChangeMerge>
}

/** The change that an object carries where this one came over another that no controller had acted on (docs/linking.md, rule 6). */
export interface ChangeMerge {
  readonly cpid: Cpid
  readonly sources: readonly Cpid[]
  /** What the other change can have set; undefined where nobody knows. */
  readonly held: readonly HeldField[] | undefined
  /** What was written with it; undefined as long as nothing was. */
  object?: string
}

/** More are not named in one span. */
const MAX_WROTE = 4_096

/** The keys by which an object says which change it is of; inference reads the same. */
const CPID_KEY = 'causeway.io/cpid'
const ANCESTORS_KEY = 'causeway.io/ancestor-cpids'
const TRACEPARENT_KEY = 'tracing.k8s.io/traceparent'
/** Tells a further write of the change from one by somebody else, who leaves the other annotations as they are. */
const WRITE_KEY = 'causeway.io/write'
export const KEYS = [CPID_KEY, ANCESTORS_KEY, TRACEPARENT_KEY, WRITE_KEY] as const

/** Merges that stand on something that was written. */
export function writtenMerges({ merges }: KubectlChange): ChangeMerge[] {
  return [...merges.values()].filter(({ object }) => object !== undefined)
}

/** The trace and span of the command, for whoever works for it. */
export function traceparentOf({ traceId, spanId }: KubectlChange): string {
  return `00-${traceId}-${spanId}-01`
}

/** What an object carries of it. A root has no ancestors, and says so: a patch takes away those of the change before. */
export function annotationsOf(change: KubectlChange, target: WriteTarget): Annotations {
  const { cpid, sources } = change.merges.get(target.path) ?? { cpid: change.cpid, sources: [] }
  const isAgain = change.written.has(referenceOf(target)) || change.wrote.length >= MAX_WROTE
  return {
    ...{ [CPID_KEY]: cpid, [ANCESTORS_KEY]: sources.join(','), [TRACEPARENT_KEY]: traceparentOf(change) },
    ...(isAgain && { [WRITE_KEY]: `${change.spanId} ${++change.marks}` }),
  }
}

/** `apps/v1/deployments/shop/web`. */
export function referenceOf({ apiVersion, resource, namespace, name }: ObjectPath): string {
  return [apiVersion, resource, ...(namespace === '' ? [] : [namespace]), name].join('/')
}

/**
 * Notes what was read of an object: whether its last change by an author is one that its controller has not acted on. What is written
 * over that comes of both, as long as it leaves something of the other.
 */
export function noteRead(
  change: KubectlChange,
  path: string,
  object: Json | undefined,
  newCpid: () => Cpid,
): void {
  const metadata = objectIn(object, 'metadata')
  const generation = numberIn(metadata, 'generation')
  const acted = objectIn(object, 'status')['observedGeneration']
  const other = parseCpid(textIn(objectIn(metadata, 'annotations'), CPID_KEY))
  const isUnacted = typeof acted === 'number' && acted < generation
  const known = change.merges.get(path)
  if (other === change.cpid || other === known?.cpid || (known?.object ?? '') !== '') return
  if (!isUnacted || other === undefined) change.merges.delete(path)
  else {
    // One that has ancestors may stand for several.
    const isOne = textIn(objectIn(metadata, 'annotations'), ANCESTORS_KEY) === ''
    const held = isOne ? heldFields(object, CPID_KEY) : undefined
    change.merges.set(path, { cpid: newCpid(), sources: [other, change.cpid], held })
  }
}

/** Notes what was written; the same version twice is one. */
export function noteWrote(change: KubectlChange, reference: string): void {
  const { wrote, written } = change
  if (wrote.includes(reference)) return
  change.writes++
  if (wrote.length >= MAX_WROTE) return
  wrote.push(reference)
  written.add(reference.split('?', 1)[0] ?? '')
}
