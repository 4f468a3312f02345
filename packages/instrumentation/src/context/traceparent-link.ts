import { isSpanContextValid, type Link } from '@opentelemetry/api'
import { annotationOf, type KubernetesObject } from '../objects/kubernetes-object.ts'

/** The annotation of Kubernetes enhancement proposal 5915. */
export const TRACEPARENT_ANNOTATION = 'tracing.k8s.io/traceparent'

const LONGEST = 512
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/**
 * A link to the span that wrote an object, from the annotation `tracing.k8s.io/traceparent`; undefined when there is none
 * or it is not a traceparent (W3C Trace Context, section 3.2).
 */
export function linkFromTraceparent(object: KubernetesObject | null | undefined): Link | undefined {
  const text = annotationOf(object, TRACEPARENT_ANNOTATION)
  if (text === undefined || text.length > LONGEST) return undefined
  const [, version, traceId = '', spanId = '', flags = '', later] = TRACEPARENT.exec(text.trim()) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && later !== undefined)) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return isSpanContextValid(context) ? { context } : undefined
}
