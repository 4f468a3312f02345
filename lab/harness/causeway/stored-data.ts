import Database from 'better-sqlite3'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import type { CausewaySettings } from './causeway-settings.ts'

/** Asks the database through a connection of its own that can only read. */
export function askStored<T>({ database }: CausewaySettings, ask: (db: Sqlite) => T): T {
  const db = new Database(database, { readonly: true, fileMustExist: true })
  try {
    return ask(db)
  } finally {
    db.close()
  }
}

/** The spans stored, each as `trace id/span id`, as often as it is there, sorted. */
export function storedSpans(settings: CausewaySettings): string[] {
  return askStored(settings, (db) =>
    db.prepare<[], string>(`SELECT trace_id || '/' || span_id FROM audit_spans ORDER BY 1`).pluck().all(),
  )
}

/** Where each exporter of a signal stands, by name. */
export function storedPositions(
  settings: CausewaySettings,
  table: 'exporters' | 'log_exporters' = 'exporters',
): Record<string, number> {
  const rows = askStored(settings, (db) =>
    db.prepare<[], { name: string; position: number }>(`SELECT name, position FROM ${table}`).all(),
  )
  return Object.fromEntries(rows.map(({ name, position }) => [name, position]))
}

interface StoredProgress {
  lastArrival: number
  linkedArrival: number
  lastDecision: number
  activeMs: number
}

export function storedProgress(settings: CausewaySettings): StoredProgress {
  const row = askStored(settings, (db) =>
    db
      .prepare<[], StoredProgress>(
        `SELECT last_arrival AS lastArrival, linked_arrival AS linkedArrival, last_decision AS lastDecision,
           active_ms AS activeMs FROM progress`,
      )
      .get(),
  )
  if (row === undefined) throw new Error('the database has no progress row')
  return row
}
