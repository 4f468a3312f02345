// What a controller has to do about CPIDs: read them from the objects it observes, decide which one its own writes
// carry, and say so in its spans and mergelogs.
import { randomUUID } from 'node:crypto'
import type { Attributes, Logger } from '@opentelemetry/api'
import {
  CPID_ANCESTORS,
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  MERGELOG_EVENT,
} from '../../src/model/attributes.ts'
import type { KubeObject, Metadata, Resource } from './kube-objects.ts'

/** A CPID and some of the CPIDs it descends from, nearest first. */
export interface CpidContext {
  cpid: string
  ancestors: readonly string[]
}

/** A CPID that is new, and what its mergelog has to say. */
export interface NewCpid extends CpidContext {
  sources: readonly string[]
  mergedAtMs: number
}

/** An object, or one about to be created. */
export interface Annotated {
  metadata: Pick<Metadata, 'annotations'>
}

const CPID_ANNOTATION = 'causeway.io/cpid'
const ANCESTORS_ANNOTATION = 'causeway.io/ancestor-cpids'
const MOST_ANCESTORS = 10

/** The context an object carries; undefined when nobody traced the change that made it. */
export function contextOf({ metadata }: Annotated): CpidContext | undefined {
  const cpid = metadata.annotations?.[CPID_ANNOTATION]
  if (cpid === undefined) return undefined
  const ancestors = metadata.annotations?.[ANCESTORS_ANNOTATION]?.split(',').filter(Boolean) ?? []
  return { cpid, ancestors }
}

/** The annotations that make an object carry a context, beside those it has. */
export function annotationsWith({ cpid, ancestors }: CpidContext, others: Record<string, string> = {}) {
  const annotations = { ...others, [CPID_ANNOTATION]: cpid }
  return ancestors.length === 0
    ? annotations
    : { ...annotations, [ANCESTORS_ANNOTATION]: ancestors.join(',') }
}

/** A root CPID: an operator did something. */
export function beginChange(): NewCpid {
  return { cpid: randomUUID(), ancestors: [], sources: [], mergedAtMs: Date.now() }
}

/**
 * The context for work that follows from all of these. One that descends from all the others stands for them; where
 * there is none, a new CPID does, and its mergelog has to be sent.
 */
export function mergeContexts(contexts: readonly CpidContext[]): CpidContext | NewCpid | undefined {
  const stands = contexts.find(({ cpid, ancestors }) => {
    return contexts.every((other) => other.cpid === cpid || ancestors.includes(other.cpid))
  })
  if (stands !== undefined || contexts.length === 0) return stands
  const sources = [...new Set(contexts.map(({ cpid }) => cpid))]
  const ancestors = [...new Set([...sources, ...contexts.flatMap((context) => context.ancestors)])]
  return {
    cpid: randomUUID(),
    ancestors: ancestors.slice(0, MOST_ANCESTORS),
    sources,
    mergedAtMs: Date.now(),
  }
}

/** True when a context was made just now, so that a mergelog has to tell of it. */
export function isNew(context: CpidContext): context is NewCpid {
  return 'sources' in context
}

/** Tells Causeway where a new CPID comes from, and which object carries it. */
export function sendMergelog(logger: Logger, made: NewCpid, object: string, reason: string): void {
  logger.emit({
    eventName: MERGELOG_EVENT,
    timestamp: made.mergedAtMs,
    body: `${made.cpid} begins with ${reason}`,
    attributes: {
      [CPID_NEW]: made.cpid,
      [CPID_SOURCES]: [...made.sources],
      [CPID_OBJECT]: object,
      [CPID_REASON]: reason,
    },
  })
}

/** What a span or log record says about the change that caused it. */
export function attributesOf(context: CpidContext | undefined): Attributes {
  if (context === undefined) return {}
  const { cpid, ancestors } = context
  return { [CPID_ID]: cpid, ...(ancestors.length > 0 && { [CPID_ANCESTORS]: [...ancestors] }) }
}

/** The reference of an object at the version it was read or written at. */
export function referenceTo(resource: Resource, { metadata }: KubeObject): string {
  const { namespace, name, uid, resourceVersion } = metadata
  return `${resource}/${namespace}/${name}?uid=${uid}&rv=${resourceVersion}`
}
