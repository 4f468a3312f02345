import type { Protocol } from '../../harness/clients/otlp-client.ts'

/** What the load generator is told, and what it answers. */
export interface SendOrder {
  kind: 'send'
  endpoint: string
  /** gRPC without it. */
  protocol?: Protocol
  /** 512 without it. */
  spansPerRequest?: number
  requests: number
  inFlight: number
  cascades: number
  /** For programs that take no logs, or do not know what a mergelog is. */
  withoutMergelogs?: boolean
  /** As fast as they are acknowledged without it. */
  spansPerSecond?: number
  /** Ends the sending early. */
  atMostMs?: number
}

export type FromGenerator = { kind: 'ready' } | Sent | { kind: 'failed'; reason: string }

/** What was acknowledged, with times in epoch milliseconds. */
export interface Sent {
  kind: 'sent'
  startedMs: number
  endedMs: number
  /** Spans. */
  acknowledged: number
  /** How often a request was refused for now, and sent again. */
  refused: number
  /** Of every request, its repeats counted in, in order of size. */
  latenciesMs: number[]
  cpuSeconds: number
}

/** What the sink is told: say so once this many spans have come; or how many have come by now. */
export type ToSink = { kind: 'expect'; spans: number } | { kind: 'count' }

export type FromSink =
  | { kind: 'ready'; port: number }
  | { kind: 'reached'; atMs: number }
  | { kind: 'counted'; spans: number; lastMs: number; requests: number; bytes: number; cpuSeconds: number }

/** What the process with nothing but SQLite is told: store what comes in so many requests of 512 spans. */
export interface CommitOrder {
  kind: 'commit'
  path: string
  requests: number
}

export type FromBare =
  | { kind: 'ready' }
  /** `seconds` is the time of the transactions alone. */
  | { kind: 'committed'; spans: number; seconds: number }
  | { kind: 'failed'; reason: string }

/** Epoch milliseconds with fractions, comparable between processes of one machine. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Processor time this process has used. */
export function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
