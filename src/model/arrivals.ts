import type { SeenWrite } from './seen-write.ts'
import type { UnixNanos } from './clock.ts'

/** A mergelog as its sender wrote it; CPIDs are not checked yet. */
export interface MergelogRecord {
  newCpid: string
  sources: string[]
  /** 0n when the sender gave no time. */
  timeNs: UnixNanos
  object: string | undefined
  reason: string | undefined
  /** Which attribute that the merge graph rests on is there more than once; the first counts. */
  repeated?: string
}

/** Bits of a stored span. */
export const SPAN_HAS_LINKS = 1
export const SPAN_INHERITED_CPID = 2
/** It carries a `cpid.id` that is no CPID: it stays unattributed whatever is above it. */
export const SPAN_MALFORMED_CPID = 4

/** It names objects that it read, or wrote. */
export const SPAN_OBSERVED = 8
export const SPAN_WROTE = 16

/** It carries no `cpid.id`, and its sender's spans join changes of their own cluster alone: it takes no other CPID from its parent. */
export const SPAN_JOINS_OWN = 32

/** It tells of a write that was seen from outside: there is a `SeenWrite` of it. */
export const SPAN_SEEN_WRITE = 64

/** It names the request of an API server that it is part of (`audit-id`), or is a kubelet's and names a Pod (`k8s.pod.uid`). */
export const SPAN_NAMES_REQUEST = 128
export const SPAN_NAMES_POD = 256

/** It took its CPID from something that it says it belongs to, or from a parent that did: it is no activity. */
export const SPAN_JOINED = 512

/** The fields of a received span that linking and questions need, and the span's own bytes. */
export interface SpanRecord {
  /** The OTLP Span message, a view into the request. */
  raw: Buffer
  /** 16 bytes as a latin1 string, a cheap map key. */
  traceKey: string
  /** 8 bytes read as a signed big-endian integer. */
  spanId: bigint
  /** 0n for none. */
  parentId: bigint
  startNs: UnixNanos
  endNs: UnixNanos
  name: string
  kind: number
  status: number
  hasLinks: boolean
  /** As sent; null when the attribute is there but is not a string. Where it is there more than once the first counts. */
  cpid: string | null | undefined
  /** Its CPID is there more than once. */
  repeatsCpid: boolean
  mergelogs: MergelogRecord[] | undefined
  /** Object references, as sent. */
  observed: readonly string[] | undefined
  wrote: readonly string[] | undefined
  seen: SeenWrite | undefined
  /** Bits `SPAN_NAMES_*`. */
  names: number
}

export interface LogRecord {
  raw: Buffer
  timeNs: UnixNanos
  severity: number
  eventName: string
  /** 16 bytes as a latin1 string, or empty. */
  traceKey: string
  /** 0n for none. */
  spanId: bigint
  cpid: string | null | undefined
  repeatsCpid: boolean
  mergelog: MergelogRecord | undefined
}

/** Everything of a ScopeSpans or ScopeLogs message but its records, and the records. */
export interface ScopeGroup<T> {
  envelope: Buffer
  records: T[]
}

/** Everything of a ResourceSpans or ResourceLogs message but its scopes, and the scopes. */
export interface ResourceGroup<T> {
  envelope: Buffer
  service: string
  cluster: string | undefined
  /** Which of those two it names more than once; the first counts, and what speaks for whom is in doubt. */
  repeated: string | undefined
  scopes: ScopeGroup<T>[]
}

/** A decoded export request. What was refused item by item is only counted, with a reason for each kind. */
export interface Decoded<T> {
  resources: ResourceGroup<T>[]
  rejected: number
  reasons: string[]
}
