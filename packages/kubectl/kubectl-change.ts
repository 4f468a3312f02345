import type { Cpid } from '../../src/model/merge-graph.ts'
import type { UnixNanos } from '../../src/model/time-and-size.ts'
import type { Annotations } from './annotate-body.ts'

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
}

/** More are not named in one span. */
const MAX_WROTE = 4_096

/** The keys by which an object says which change it is of; inference reads the same. */
export const CPID_KEY = 'causeway.io/cpid'
const ANCESTORS_KEY = 'causeway.io/ancestor-cpids'
const TRACEPARENT_KEY = 'tracing.k8s.io/traceparent'
export const KEYS = [CPID_KEY, ANCESTORS_KEY, TRACEPARENT_KEY] as const

/** The trace and span of the command, for whoever works for it. */
export function traceparentOf({ traceId, spanId }: KubectlChange): string {
  return `00-${traceId}-${spanId}-01`
}

/** What objects carry of it. A root has no ancestors, and says so: a patch takes away those of the change before. */
export function annotationsOf(change: KubectlChange): Annotations {
  return { [CPID_KEY]: change.cpid, [ANCESTORS_KEY]: '', [TRACEPARENT_KEY]: traceparentOf(change) }
}

/** Notes what was written; the same version twice is one. */
export function noteWrote({ wrote }: KubectlChange, reference: string): void {
  if (wrote.length < MAX_WROTE && !wrote.includes(reference)) wrote.push(reference)
}
