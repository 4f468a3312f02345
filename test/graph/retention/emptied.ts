import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { check, same } from './faults.ts'

/** Tables with rows in a database without arrivals, and those whose owners keep some for good. */
const KEPT: Readonly<Record<string, string>> = {
  progress: 'one row',
  exporters: 'one an exporter',
  log_exporters: 'one an exporter',
  metric_exporters: 'one an exporter',
  cpids: 'tombstones, as many as max_cpids at most',
  arrival_marks: 'the newest, by which a leap of the calendar is seen',
  rejected_items: 'the newest 10,000 of which something was refused',
}

/** Throws unless every table is as in a database to which nothing came, but for what owners keep. */
export function expectEmptied(db: Sqlite, tombstones: number): void {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'kysely_%'",
    )
    .pluck()
    .all()
  const count = (from: string): number => Number(db.prepare(`SELECT count(*) FROM ${from}`).pluck().get())
  const left = tables.filter((table) => !(table in KEPT)).map((table) => [table, count(table)] as const)
  same(
    left.filter(([, rows]) => rows > 0),
    [],
    'rows are left that nothing will remove',
  )
  check(count('cpids WHERE state = 0') === 0, 'CPIDs are left')
  check(count('cpids') <= tombstones, 'too many tombstones are left')
  check(count('arrival_marks') <= 2, 'too many marks are left')
}
