/** What the load generator is told, and what it answers. */
export interface SendOrder {
  kind: 'send'
  endpoint: string
  /** Requests of 512 spans. */
  requests: number
  inFlight: number
  cascades: number
  /** As fast as they are acknowledged without it. */
  spansPerSecond?: number
}

export type FromGenerator =
  | { kind: 'ready' }
  /** Times are epoch milliseconds; latencies are those of every request, in order of size. */
  | { kind: 'sent'; startedMs: number; endedMs: number; latenciesMs: number[]; cpuSeconds: number }
  | { kind: 'failed'; reason: string }

/** What the sink is told: say so once this many spans have come; or how many have come by now. */
export type ToSink = { kind: 'expect'; spans: number } | { kind: 'count' }

export type FromSink =
  | { kind: 'ready'; port: number }
  | { kind: 'reached'; atMs: number }
  | { kind: 'counted'; spans: number; requests: number; bytes: number; cpuSeconds: number }

/** Epoch milliseconds with fractions, comparable between processes of one machine. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Processor time this process has used. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
