import { sql, type Kysely } from 'kysely'

/** What blocks of spans with neighbouring numbers contain, for searches: of received spans, and of Causeway's own by their decisions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['span_blocks', 'own_span_blocks'])
    await sql
      .raw(
        `CREATE TABLE ${table} (
  after INTEGER PRIMARY KEY, -- the spans of a block have the numbers after this one
  up_to INTEGER NOT NULL, -- and up to this one
  facts BLOB NOT NULL, -- serialized by v8
  checksum INTEGER NOT NULL -- of facts
  ) STRICT`,
      )
      .execute(db)
}
