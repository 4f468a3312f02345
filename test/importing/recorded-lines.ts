import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import Database from 'better-sqlite3'
import type { RecordedSource } from '../../src/importing/recordings.ts'

/** A line of a recording, and when it was told. */
export interface RecordedLine {
  readonly source: RecordedSource
  readonly atMs: number
  readonly text: string
}

const ROLLOUT = new URL('../inference/recordings/rollout/', import.meta.url)

/** The lines of the rollout that were told between two seconds after its first. */
export function linesOfRollout(fromSecond = 0, toSecond = Infinity): RecordedLine[] {
  const all = (['audit', 'watch'] as const).flatMap((source) =>
    gunzipSync(readFileSync(new URL(`${source}.jsonl.gz`, ROLLOUT)))
      .toString()
      .trimEnd()
      .split('\n')
      .map((text) => {
        const { stageTimestamp, time } = JSON.parse(text) as { stageTimestamp?: string; time?: string }
        return { source, atMs: Date.parse(stageTimestamp ?? time ?? ''), text }
      }),
  )
  const firstMs = Math.min(...all.map(({ atMs }) => atMs))
  const seconds = ({ atMs }: RecordedLine): number => (atMs - firstMs) / 1_000
  return all.filter((line) => seconds(line) >= fromSecond && seconds(line) < toSecond)
}

/** Tables that say when a database was made, and where recordings were read to. */
const OTHERS = new Set(['kysely_migration', 'kysely_migration_lock', 'k8s_streams'])

/** Every row of every table of what was imported. */
export function allRows(path: string): Record<string, string[]> {
  const db = new Database(path, { readonly: true })
  try {
    const tables = db
      .prepare<[], string>(
        `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1`,
      )
      .pluck()
      .all()
      .filter((table) => !OTHERS.has(table))
    return Object.fromEntries(
      tables.map((table) => [
        table,
        db
          .prepare<[], unknown[]>(`SELECT * FROM ${table}`)
          .raw()
          .safeIntegers()
          .all()
          .map((row) => row.map(textOf).join(' | ')),
      ]),
    )
  } finally {
    db.close()
  }
}

function textOf(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('base64') : String(value)
}
