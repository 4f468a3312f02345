import type { SettingsOf } from '../../../config/schema/schema.ts'
import { DURATION } from '../../../config/schema/duration.ts'
import { field, UNSUPPORTED_COLLECTOR_KEY, refusedKeys } from '../../../config/schema/field.ts'
import { section } from '../../../config/schema/section.ts'

/** For each of these but `timeoutMs` 0 means never. */
export interface GrpcKeepaliveConfig {
  maxConnectionIdleMs: number
  maxConnectionAgeMs: number
  maxConnectionAgeGraceMs: number
  timeMs: number
  timeoutMs: number
}

const parameters = section('When connections end. 0s means never.', {
  max_connection_idle: field(DURATION, '15m', 'After so long without a request a connection is closed.'),
  max_connection_age: field(
    DURATION,
    '0s',
    'A connection this old is closed, a tenth earlier or later; what is under way on it is finished.',
  ),
  max_connection_age_grace: field(
    DURATION,
    '0s',
    'How much longer that may take; 0s means as long as it does.',
  ),
  time: field(DURATION, '2m', 'How often a connection is pinged.'),
  timeout: field(DURATION, '20s', 'A connection is closed when a ping is not answered within this.'),
})

/** The keys are the Collector's; there everything but the pings goes on for ever by default. */
export const keepalive = section('Which connections are kept.', {
  server_parameters: parameters,
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'enforcement_policy'),
})

export function buildKeepalive({ server_parameters }: SettingsOf<typeof keepalive>): GrpcKeepaliveConfig {
  return {
    maxConnectionIdleMs: server_parameters.max_connection_idle,
    maxConnectionAgeMs: server_parameters.max_connection_age,
    maxConnectionAgeGraceMs: server_parameters.max_connection_age_grace,
    timeMs: server_parameters.time,
    timeoutMs: server_parameters.timeout,
  }
}
