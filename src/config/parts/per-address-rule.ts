import type { Rule } from '../schema/section.ts'

/** One address cannot have more connections than there are. */
export const perAddressRule: Rule<{
  max_connections: number
  max_connections_per_address: number | undefined
}> = ({ max_connections, max_connections_per_address }) =>
  max_connections_per_address !== undefined && max_connections_per_address > max_connections
    ? {
        key: 'max_connections_per_address',
        message: 'must not exceed max_connections; write less, or a larger max_connections',
      }
    : undefined
