import type { ClickHouseSettings } from '../../src/exporter/clickhouse/clickhouse-exporter.ts'
import type { ClickHouseServer } from './clickhouse-server.ts'

/** Asked again soon, and for ever. */
export const ARCHIVE_RETRY = {
  ...{ enabled: true, initialIntervalMs: 10, randomizationFactor: 0, multiplier: 1.5, maxIntervalMs: 50 },
  maxElapsedMs: 0,
}

/** As the configuration has it, for an archive in a database of its own. */
export function archiveSettings(
  server: Pick<ClickHouseServer, 'endpoint'>,
  database: string,
  other: Partial<ClickHouseSettings> = {},
): ClickHouseSettings {
  return {
    ...{ endpoint: server.endpoint, username: 'writer', password: 'secret', database, causeway: 'prod-eu' },
    ...{ tracesTable: 'otel_traces', retentionDays: 0, raw: false, createsSchema: true, intervalMs: 10 },
    ...{ compression: 'zstd', timeoutMs: 60_000, retry: ARCHIVE_RETRY },
    tls: {
      insecure: true,
      insecureSkipVerify: false,
      minVersion: 'TLSv1.2',
      cipherSuites: [],
      curves: [],
      reloadIntervalMs: 0,
    },
    ...other,
  }
}
