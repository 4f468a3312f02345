import type { ClickHouseServer } from '../../../../lab/harness/clickhouse-server.ts'
import { VIEWS } from '../../../../src/exporter/clickhouse/views.ts'
import type { TestWriter } from '../../../support/test-writer.ts'

type Rows = Record<string, string[]>

/** Every row of every view that both have, as text, in some order. */
export async function viewsOf(
  writer: TestWriter,
  server: ClickHouseServer,
  archive: string,
): Promise<{ database: Rows; archive: Rows }> {
  const database: Rows = {}
  const archived: Rows = {}
  for (const { name } of VIEWS) {
    const columns = writer.db
      .prepare<[], string>(`SELECT name FROM pragma_table_info('${name}')`)
      .pluck()
      .all()
    if (columns.length === 0) continue
    const listed = columns.map((column) => `"${column}"`).join()
    const stored = writer.db.prepare<[], Record<string, unknown>>(`SELECT ${listed} FROM ${name}`).all()
    database[name] = stored.map((row) => asText(row, columns)).sort()
    archived[name] = (await server.rows(`SELECT ${listed} FROM ${archive}.${name}`))
      .map((row) => asText(row, columns))
      .sort()
  }
  return { database, archive: archived }
}

export function asText(row: Record<string, unknown>, columns: readonly string[]): string {
  return columns.map((column) => `${column}=${plain(row[column])}`).join(' ')
}

/** Of a JSON list the items in order; of a number what both can say of it. */
function plain(value: unknown): string {
  if (typeof value === 'number') return String(Math.round(value * 1e3) / 1e3)
  if (typeof value === 'string' && value.startsWith('["'))
    return (JSON.parse(value) as string[]).sort().join()
  return String(value)
}
