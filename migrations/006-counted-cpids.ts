import { sql, type Kysely } from 'kysely'

/** How many CPIDs are live and how many are tombstones, so that nobody need count the rows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE progress ADD COLUMN live_cpids INTEGER NOT NULL DEFAULT 0').execute(db)
  await sql.raw('ALTER TABLE progress ADD COLUMN tombstones INTEGER NOT NULL DEFAULT 0').execute(db)
  await sql
    .raw(
      `UPDATE progress SET live_cpids = (SELECT count(*) FROM cpids) - (SELECT count(*) FROM cpids WHERE state = 1),
   tombstones = (SELECT count(*) FROM cpids WHERE state = 1)`,
    )
    .execute(db)
}
