import { sql, type Kysely } from 'kysely'

/** Which CPIDs log records to be sent took from their spans: their tombstones stay until then. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('CREATE INDEX log_outbox_by_cpid ON log_outbox (cpid) WHERE cpid IS NOT NULL').execute(db)
}
