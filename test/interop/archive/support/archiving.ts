import { ARCHIVE_RETRY } from '../../../../lab/harness/archive-settings.ts'
import { ArchiveDrain } from '../../../../src/exporter/archive.ts'
import { openArchive } from '../../../../src/exporter/clickhouse/clickhouse-archive.ts'
import type { ClickHouseSettings } from '../../../../src/exporter/clickhouse/clickhouse-exporter.ts'
import { SqliteArchiveReader } from '../../../../src/store/sqlite/archive-reader.ts'
import { systemClock } from '../../../../src/platform/system-clock.ts'
import type { TestWriter } from '../../../support/test-writer.ts'

interface Archived {
  rows: number
  refused: number
  retries: string[]
  losses: string[]
}

/**
 * Brings all that is stored into an archive, from where that stands, and notes how far it has come; with `stopsAtTrouble` no further than
 * until something is told that keeps it from that. `others`: exporters that go into archives too; `onTrouble` is called at each trouble.
 */
export async function archiveAll(
  writer: TestWriter,
  settings: ClickHouseSettings,
  {
    stopsAtTrouble = false,
    saves = true,
    name = 'clickhouse',
    others = [] as string[],
    onTrouble: tell = (): void => undefined,
  } = {},
): Promise<Archived> {
  const kept = writer.writer.keepArchives([name, ...others]).get(name)
  if (kept === undefined) throw new Error('it is not kept')
  const archived: Archived = { rows: 0, refused: 0, retries: [], losses: [] }
  const stop = new AbortController()
  const onTrouble = (reason: string): void => {
    archived.retries.push(reason)
    tell()
    if (stopsAtTrouble) stop.abort()
  }
  await using archive = openArchive(settings, {
    ...{ clock: systemClock, userAgent: 'Causeway/test', instance: kept.instance },
    writeLine: () => undefined,
    onTrouble,
    onLoss: (reason) => archived.losses.push(reason),
  })
  const drain = new ArchiveDrain(kept.position, {
    ...{
      archive,
      reader: new SqliteArchiveReader(writer.db),
      clock: systemClock,
      retry: ARCHIVE_RETRY,
      intervalMs: 10,
    },
    random: () => 0.5,
    onMoved: ({ position, delivered, refused }) => {
      archived.rows += delivered
      archived.refused += refused
      if (saves) writer.writer.saveArchives([{ exporter: name, position, refused }])
    },
    onRetry: ({ reason }) => onTrouble(reason),
    onDrop: ({ reason }) => onTrouble(reason),
    onUnreadable: (error) => {
      if (error !== undefined) throw error as Error
    },
  })
  drain.finish()
  await drain.run(stop.signal)
  return archived
}
