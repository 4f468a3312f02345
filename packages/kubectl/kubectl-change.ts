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
  /** The given reason, or else the command. */
  readonly reason: string
  /** References of the written objects, with the versions made, in order; at most MAX_WROTE. */
  readonly wrote: string[]
  /** How many versions were made, including those not in `wrote`. */
  writes: number
  /** The references in `wrote`, without versions. */
  readonly written: Set<string>
  /** How many writes got a `causeway.io/write` annotation. */
  marks: number
  /** Merges with changes that no controller had acted on yet, by the path of the object. */
  readonly merges: Map<string, ChangeMerge>
}

/** The merged change of an object whose previous change no controller had acted on (docs/linking.md, rule 6). */
export interface ChangeMerge {
  readonly cpid: Cpid
  readonly sources: readonly Cpid[]
  /** The fields that the previous change may have set; undefined if unknown. */
  readonly held: readonly HeldField[] | undefined
  /** The reference of the first object written with it; undefined before that. */
  object?: string
}

/** The most versions named in one span. */
const MAX_WROTE = 4_096

/** The annotation keys of a change; the inference reads the same ones. */
const CPID_KEY = 'causeway.io/cpid'
const ANCESTORS_KEY = 'causeway.io/ancestor-cpids'
const TRACEPARENT_KEY = 'tracing.k8s.io/traceparent'
/** Distinguishes a further write of the change from a write by somebody else that keeps the annotations. */
const WRITE_KEY = 'causeway.io/write'
export const KEYS = [CPID_KEY, ANCESTORS_KEY, TRACEPARENT_KEY, WRITE_KEY] as const

/** The merges with which something was written. */
export function writtenMerges({ merges }: KubectlChange): ChangeMerge[] {
  return [...merges.values()].filter(({ object }) => object !== undefined)
}

/** The traceparent of the command's span (W3C Trace Context), for requests and annotations. */
export function traceparentOf({ traceId, spanId }: KubectlChange): string {
  return `00-${traceId}-${spanId}-01`
}

/** The annotations of the change for an object. A root has an empty ancestor list, so that a patch clears that of the previous change. */
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
 * Notes an object that was read. If its controller has not acted on its last change yet, a write over it merges both changes, unless it
 * overwrites all fields of the other.
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
    // A CPID with ancestors may stand for several changes.
    const isOne = textIn(objectIn(metadata, 'annotations'), ANCESTORS_KEY) === ''
    const held = isOne ? heldFields(object, CPID_KEY) : undefined
    change.merges.set(path, { cpid: newCpid(), sources: [other, change.cpid], held })
  }
}

/** Notes a written version, each once. */
export function noteWrote(change: KubectlChange, reference: string): void {
  const { wrote, written } = change
  if (wrote.includes(reference)) return
  change.writes++
  if (wrote.length >= MAX_WROTE) return
  wrote.push(reference)
  written.add(reference.split('?', 1)[0] ?? '')
}
