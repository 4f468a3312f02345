import { sql, type Kysely } from 'kysely'

/** Whether a change waits is asked for each span that waits for the same CPID, of which there may be very many. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('CREATE INDEX waiting_changes ON waiting (cpid) WHERE kind = 1').execute(db)
}
