import { sql, type Kysely } from 'kysely'

/** What names and texts are cut to: a character takes four bytes at most, and new ones are cut to 4,096 bytes. */
const MOST_CHARACTERS = 1_024

const TEXTS = [
  ['resources', 'service'],
  ['resources', 'cluster'],
  ['mergelogs', 'object'],
  ['mergelogs', 'reason'],
] as const

/** Cuts names and texts that were stored when they had no limit, each as long as a request. The bytes that they came in stay whole. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [table, column] of TEXTS) {
    const [of, text] = [sql.table(table), sql.ref(column)]
    await sql`UPDATE ${of} SET ${text} = substr(${text}, 1, ${sql.lit(MOST_CHARACTERS)})
      WHERE length(CAST(${text} AS BLOB)) > ${sql.lit(MOST_CHARACTERS * 4)}`.execute(db)
  }
}
