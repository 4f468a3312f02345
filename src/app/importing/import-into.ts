import type { CausewayConfig } from '../../config/causeway-config.ts'
import { holdDatabase } from '../../sqlite/hold-database.ts'
import { migrate } from '../../sqlite/migrate.ts'
import { closeWriting, openForWriting } from '../../sqlite/open-database.ts'
import { sqliteStores } from '../../sqlite/writer-stores.ts'
import { StoreWriter } from '../../store/store-writer.ts'
import { inferenceRules, soughtReferences } from '../store/inference-rules.ts'
import { parseRelations } from '../../inference/parse-relations.ts'
import type { Imported } from './import-counts.ts'
import { IMPORT_STREAM } from './import-place.ts'
import { importRecordings, type ImportOptions, type OpenWriter } from './import-recordings.ts'
import { RecordedClock } from './recorded-clock.ts'
import type { NamedRecording } from './recording.ts'

/**
 * Imports recordings of a cluster into the configured database, on which no Causeway may run; it is made where there is none.
 * What is decided is left for the configured exporters, which a Causeway sends once it runs. Rejects with what to do.
 */
export async function importInto(
  { cpid, pipelines: { outTraces, outLogs } }: CausewayConfig,
  cluster: string,
  recordings: readonly NamedRecording[],
  options: ImportOptions = {},
): Promise<Imported> {
  const { path } = cpid.storage
  const db = openForWriting(path)
  let hold: Disposable | undefined
  try {
    hold = holdDatabase(path)
    await migrate(db)
    const inference = {
      ...inferenceRules(cpid.inference, [], { receivers: [] }),
      clusters: { [cluster]: seenBy(recordings) },
    }
    const { references } = parseRelations(cpid.inference.relations)
    const openWriter: OpenWriter = (startMs) => {
      const clock = new RecordedClock(startMs)
      const stores = sqliteStores(
        db,
        { retention: cpid.retention, sought: soughtReferences(inference) },
        clock,
      )
      const linking = { ...cpid.linking, logs: outLogs.length > 0 }
      const { maxSources, retention, senders } = cpid
      const writer = new StoreWriter(
        stores,
        { linking, maxSources, retention, inference, ...(senders && { senders }) },
        clock,
      )
      writer.keepExporters('traces', outTraces)
      writer.keepExporters('logs', outLogs)
      return { writer, clock }
    }
    const stored = sqliteStores(db, { retention: cpid.retention }, new RecordedClock(0)).transactor.run(
      ({ inference: kept }) => kept.position(cluster, IMPORT_STREAM),
      { mayOnlyRead: true },
    )
    return await importRecordings({ cluster, recordings, references, openWriter, stored }, options)
  } finally {
    closeWriting(db)
    hold?.[Symbol.dispose]()
  }
}

function seenBy(recordings: readonly NamedRecording[]): { versions: boolean; requests: boolean } {
  const has = (of: NamedRecording['source']): boolean => recordings.some(({ source }) => source === of)
  return { versions: has('watch'), requests: has('audit') }
}
