import type { SettingsOf } from '../../config/schema/schema.ts'
import type { AdmissionConfig } from '../../config/causeway-config.ts'
import { DURATION } from '../../config/schema/duration.ts'
import { field, optionalField } from '../../config/schema/field.ts'
import { wholeNumber } from '../../config/schema/scalar-kinds.ts'
import { section } from '../../config/schema/section.ts'
import { size } from '../../config/schema/size.ts'
import { perAddressRule } from '../../config/parts/per-address-rule.ts'
import { present } from '../../config/parts/present.ts'

export const admission = section(
  'How much is taken in at a time; what is more is refused for now, and comes again. A sender is told apart by its ' +
    'credential, then by `k8s.cluster.name` and `service.name`.',
  {
    max_in_flight: field(
      size(1),
      '64MiB',
      'Most bytes of requests being read and stored, over all receivers. One request alone may be larger.',
    ),
    max_flow_requests: field(
      wholeNumber(1),
      '64',
      'Most requests of one sender waiting while others send too.',
    ),
    max_flow_bytes: field(
      size(1),
      '8MiB',
      'Most bytes of one sender waiting while others send too. Must not exceed `max_in_flight`.',
    ),
    max_connections: field(
      wholeNumber(1),
      '1024',
      'Most connections to each port of a receiver with a request under way; further requests are refused for now.',
    ),
    max_connections_per_address: optionalField(
      wholeNumber(1),
      'Most of them from one address, for IPv6 from one /64; left out, a quarter of `max_connections`. Raise it where many ' +
        'senders come through one proxy or NAT.',
    ),
    request_timeout: field(
      DURATION,
      '60s',
      'How long a request over gRPC may take to arrive; 0s means for ever. Over HTTP `read_timeout` says so.',
    ),
  },
  [
    ({ max_in_flight, max_flow_bytes }) =>
      max_flow_bytes > max_in_flight
        ? {
            key: 'max_flow_bytes',
            message: 'must not exceed max_in_flight; write less, or a larger max_in_flight',
          }
        : undefined,
    perAddressRule,
  ],
)

export function buildAdmission(settings: SettingsOf<typeof admission>): AdmissionConfig {
  return {
    maxInFlightBytes: settings.max_in_flight,
    maxFlowRequests: settings.max_flow_requests,
    maxFlowBytes: settings.max_flow_bytes,
    maxConnections: settings.max_connections,
    requestTimeoutMs: settings.request_timeout,
    ...present({ maxConnectionsPerAddress: settings.max_connections_per_address }),
  }
}
