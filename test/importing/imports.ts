import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  IMPORT_STREAM,
  type Imported,
  type ImportOptions,
  importRecordings,
  readPlace,
} from '../../src/importing/import-recordings.ts'
import { RecordedClock } from '../../src/importing/recorded-time.ts'
import type { NamedRecording, RecordedSource } from '../../src/importing/recordings.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { closeWriting, openForReading, openForWriting } from '../../src/store/sqlite/open-database.ts'
import { sqliteStores } from '../../src/store/sqlite/writer-stores.ts'
import { StoreWriter } from '../../src/store/store-writer.ts'
import { writerSettings } from '../support/test-writer.ts'
import type { RecordedLine } from './recorded-lines.ts'

/** Lines of one source in a file. */
export interface RecordedFile {
  readonly source: RecordedSource
  readonly lines: readonly string[]
  readonly isCompressed?: boolean
}

/** The lines of each source in one file, in their order. */
export function asRecorded(lines: readonly RecordedLine[]): RecordedFile[] {
  return (['audit', 'watch'] as const).flatMap((source) => {
    const own = lines.filter((line) => line.source === source).map(({ text }) => text)
    return own.length === 0 ? [] : [{ source, lines: own }]
  })
}

/** Writes files into a folder. */
export function written(folder: string, files: readonly RecordedFile[]): NamedRecording[] {
  return files.map(({ source, lines, isCompressed = false }, at) => {
    const path = join(folder, `${at}.jsonl`)
    const text = lines.map((line) => `${line}\n`).join('')
    writeFileSync(path, isCompressed ? gzipSync(text) : text)
    return { source, path }
  })
}

/** Its time goes on a number of times, and then the import breaks off. */
class BreakingClock extends RecordedClock {
  #left: number

  constructor(startMs: number, left: number) {
    super(startMs)
    this.#left = left
  }

  override goOn(ms: number): void {
    if (this.#left-- <= 0) throw new BrokenOff()
    super.goOn(ms)
  }
}

export class BrokenOff extends Error {}

interface ImportRun extends ImportOptions {
  /** After how many steps of recorded time it breaks off; never unless given. */
  readonly breaksAfter?: number
}

/** Imports recordings into a database as `causeway import` does, as far as it comes. */
export async function runImport(
  path: string,
  recordings: readonly NamedRecording[],
  { breaksAfter = Infinity, ...options }: ImportRun = {},
): Promise<Imported | BrokenOff> {
  const db = openForWriting(path)
  try {
    await migrate(db)
    const seen = (source: RecordedSource): boolean => recordings.some((one) => one.source === source)
    const settings = writerSettings({
      inference: {
        ...{ relations: RELATIONS, operators: [], controllers: ['kwok'], windowMs: 500, whoWaitMs: 2_000 },
        clusters: { test: { versions: seen('watch'), requests: seen('audit') } },
      },
    })
    const open = (clock: RecordedClock) =>
      sqliteStores(db, { retention: settings.retention, sought: new Set(['target']) }, clock)
    const stored = open(new RecordedClock(0)).transactor.run(({ inference }) =>
      inference.position('test', IMPORT_STREAM),
    )
    const openWriter = (startMs: number) => {
      const clock = new BreakingClock(startMs, breaksAfter)
      return { writer: new StoreWriter(open(clock), settings, clock), clock }
    }
    return await importRecordings(
      { cluster: 'test', recordings, reading: { references: [], fieldValues: 'plain' }, openWriter, stored },
      options,
    )
  } catch (error) {
    if (error instanceof BrokenOff) return error
    throw error
  } finally {
    closeWriting(db)
  }
}

/** How many lines were told to a database by now. */
export function toldLines(path: string): number {
  if (!existsSync(path)) return 0
  const db = openForReading(path)
  try {
    const isThere = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'k8s_streams'").get() !== undefined
    const place = isThere
      ? db.prepare<[], string>("SELECT position FROM k8s_streams WHERE stream = 'import'").pluck().get()
      : undefined
    return place === undefined ? 0 : readPlace(place).imported.lines
  } finally {
    db.close()
  }
}
