import type { ServerOptions } from '@grpc/grpc-js'

/** When connections end, in milliseconds; for each of these but `timeoutMs` 0 means never. */
export interface KeepaliveSettings {
  /** After so long without a request. */
  maxConnectionIdleMs: number
  maxConnectionAgeMs: number
  maxConnectionAgeGraceMs: number
  /** How often a connection is pinged, and how long it has for the answer. */
  timeMs: number
  timeoutMs: number
}

const OPTIONS: Readonly<Record<keyof KeepaliveSettings, string>> = {
  maxConnectionIdleMs: 'grpc.max_connection_idle_ms',
  maxConnectionAgeMs: 'grpc.max_connection_age_ms',
  maxConnectionAgeGraceMs: 'grpc.max_connection_age_grace_ms',
  timeMs: 'grpc.keepalive_time_ms',
  timeoutMs: 'grpc.keepalive_timeout_ms',
}
/** Timers go no further; just below it, since grpc-js takes this number for never. */
const MAX_MS = 2 ** 31 - 2

/** The same in the words of grpc-js, which leaves out what never happens. */
export function keepaliveOptions(settings: KeepaliveSettings): ServerOptions {
  const entries = Object.entries(OPTIONS).map(([key, option]) => [
    option,
    Math.min(settings[key as keyof KeepaliveSettings], MAX_MS),
  ])
  return Object.fromEntries(entries.filter(([, ms]) => ms !== 0)) as ServerOptions
}
