import type { ClickHouseServer } from '../../../../lab/harness/clickhouse-server.ts'
import { ArchiveDrain } from '../../../../src/exporter/archive.ts'
import { openArchive } from '../../../../src/exporter/clickhouse/clickhouse-archive.ts'
import type { ClickHouseSettings } from '../../../../src/exporter/clickhouse/clickhouse-exporter.ts'
import { SqliteArchiveReader } from '../../../../src/store/sqlite/archive-reader.ts'
import { systemClock } from '../../../../src/platform/system-clock.ts'
import type { TestWriter } from '../../../support/test-writer.ts'

export const RETRY = {
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
    ...{ compresses: true, timeoutMs: 60_000, retry: RETRY },
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

export interface Archived {
  rows: number
  refused: number
  retries: string[]
}

/** Brings all that is stored into an archive, from where that stands, and notes how far it has come. */
export async function archiveAll(
  writer: TestWriter,
  settings: ClickHouseSettings,
  { signal = new AbortController().signal, saves = true, name = 'clickhouse' } = {},
): Promise<Archived> {
  const kept = writer.writer.keepArchives([name]).get(name)
  if (kept === undefined) throw new Error('it is not kept')
  const archived: Archived = { rows: 0, refused: 0, retries: [] }
  await using archive = openArchive(settings, {
    ...{ clock: systemClock, userAgent: 'Causeway/test', instance: kept.instance },
    show: () => undefined,
    onTrouble: (reason) => archived.retries.push(reason),
  })
  const drain = new ArchiveDrain(kept.position, {
    ...{
      archive,
      reader: new SqliteArchiveReader(writer.db),
      clock: systemClock,
      retry: RETRY,
      intervalMs: 10,
    },
    random: () => 0.5,
    onMoved: ({ position, delivered, refused }) => {
      archived.rows += delivered
      archived.refused += refused
      if (saves) writer.writer.saveArchives([{ exporter: name, position, refused }])
    },
    onRetry: ({ reason }) => archived.retries.push(reason),
    onDrop: ({ reason }) => archived.retries.push(reason),
    onUnreadable: (error) => {
      if (error !== undefined) throw error as Error
    },
  })
  drain.finish()
  await drain.run(signal)
  return archived
}
