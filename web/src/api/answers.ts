/** A cascade in a list. What an older Causeway does not say is left out. */
export interface Outline {
  root: string
  traceId: string
  state: 'open' | 'settled'
  start: string
  lastActivity: string
  durationMs: number
  traceCount: number
  spans: number
  services: number
  merges: number
  missing: number
  truncated: boolean
  clockSkew: boolean
  object: string | null
  service: string | null
  cluster?: string | null
  reason?: string | null
}

export interface CascadeList {
  cascades: Outline[]
  next: string | null
}

export interface Span {
  spanId: string
  parentSpanId: string | null
  /** The trace it was sent into, when it is another than that in which it is listed. */
  traceId?: string
  depth: number
  name: string
  service: string
  cpid: string | null
  start: string
  offsetMs: number
  durationMs: number
  /** OTLP's numbers. */
  kind: number
  status: number
  /** Made by Causeway. */
  synthetic: boolean
  copy: boolean
  parentMissing: boolean
  wrote?: string[]
  observed?: string[]
  waitMs?: number
  selfMs?: number
  critical?: boolean
}

export interface Trace {
  traceId: string
  /** 0 is the main trace. */
  episode: number
  /** The trace with whose spans its own are listed, because it goes on where that was full. */
  continues?: string | null
  state: 'open' | 'settled'
  start: string
  lastActivity: string
  spans: Span[]
}

export interface ServiceTime {
  service: string
  totalMs: number
  selfMs?: number
  waitMs?: number
  spans: number
  errors?: number
  firstStart?: string
  lastEnd?: string
}

export interface KindTime {
  kind: string
  totalMs: number
  selfMs: number
  waitMs: number
  spans: number
  writes: number
  objects: number
}

export interface CriticalStep {
  spanId: string
  traceId: string
  service: string
  name: string
  offsetMs: number
  durationMs: number
  waitMs: number
  /** How long it, with what runs inside it, held up the cascade. */
  heldMs: number
  /** The span inside it that took most of that, when it is not the step itself. */
  mostly: { spanId: string; service: string; name: string; heldMs: number } | null
}

export interface CriticalPath {
  durationMs: number
  /** Positions in `steps`. */
  longestStep: number | null
  longestWait: number | null
  steps: CriticalStep[]
}

export interface Mergelog {
  cpid: string
  sources: string[]
  timestamp: string
  service: string | null
  object: string | null
  reason: string | null
  cluster: string | null
}

export interface Cascade extends Outline {
  missingCpids: string[]
  traces: Trace[]
  timePerService: ServiceTime[]
  timePerKind?: KindTime[]
  criticalPath?: CriticalPath
  mergelogs?: Mergelog[]
  mergelogsTruncated?: boolean
}

export interface Comparison {
  a: Outline
  b: Outline
  durationMs: { a: number; b: number; difference: number }
  services: { service: string; a: ServiceTime | null; b: ServiceTime | null; differenceMs: number }[]
  kinds: { kind: string; a: KindTime | null; b: KindTime | null; differenceMs: number }[]
}

export interface GraphNode {
  cpid: string
  timestamp: string | null
  service: string | null
  object: string | null
  reason: string | null
  cluster: string | null
  root: boolean
  explained: boolean
  /** Negative for ancestors. */
  distance: number
}

export interface MergelogList {
  mergelogs: Mergelog[]
  next: string | null
}

export interface Graph {
  cpid: string
  nodes: GraphNode[]
  edges: { source: string; target: string }[]
  truncated: boolean
}

export interface ObjectHistory {
  objects: {
    object: string
    cpid: string
    action: 'observed' | 'wrote' | 'mergelog'
    timestamp: string
    service: string | null
    cluster: string | null
    cascades: string[]
  }[]
  next: string | null
}

export interface Found {
  cpid: { cpid: string; state: 'known' | 'pruned' | 'unknown' } | null
  cascades: Outline[]
  objects: string[]
}

export interface Facets {
  services: string[]
  clusters: string[]
  kinds: string[]
}

export interface DashboardSettings {
  /** A template with `{trace_id}` and `{span_id}`. */
  traceUrl: string | null
  version: string
}
