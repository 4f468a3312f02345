import { expect } from '@jest/globals'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'

/** The tables whose rows name a scope, from the schema itself. */
export function tablesNamingScopes(db: Sqlite): string[] {
  return db
    .prepare<[], string>(
      `SELECT t.name FROM pragma_table_list t JOIN pragma_table_info(t.name) c
       WHERE t.schema = 'main' AND t.type = 'table' AND c.name = 'scope' ORDER BY 1`,
    )
    .pluck()
    .all()
}

/** Each scope that a row names is there with its resource, and counts the rows that name it, whatever has happened. */
export function expectSoundScopes(db: Sqlite): void {
  const naming = tablesNamingScopes(db).map((table) => `SELECT scope FROM ${table} WHERE scope IS NOT NULL`)
  const wrong = db
    .prepare(
      `WITH named AS (SELECT scope, count(*) AS uses FROM (${naming.join(' UNION ALL ')}) GROUP BY scope)
       SELECT coalesce(s.id, n.scope) AS scope, s.uses AS counted, n.uses AS named FROM scopes s
         FULL JOIN named n ON n.scope = s.id WHERE s.id IS NULL OR s.uses <> coalesce(n.uses, 0)
           OR s.resource NOT IN (SELECT id FROM resources)`,
    )
    .all()
  expect(wrong).toEqual([])
}
