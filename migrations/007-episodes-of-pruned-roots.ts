import { sql, type Kysely } from 'kysely'

/** Traces whose root was pruned, and in which no CPID stands that is still there: nothing removed them. */
const LEFT = `SELECT id FROM traces t WHERE root NOT IN (SELECT id FROM cpids WHERE state = 0)
  AND NOT EXISTS (SELECT 1 FROM change_spans s JOIN cpids c ON c.id = s.cpid
    WHERE s.trace = t.id AND s.cpid <> t.root AND c.state = 0)`

/** What episodes of pruned roots have left behind is given back; their tombstones remember their next episode. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(`CREATE TEMP TABLE left_traces AS ${LEFT}`).execute(db)
  await sql
    .raw(
      `UPDATE cpids SET next_episode = max(next_episode, (SELECT max(episode) + 1 FROM traces WHERE root = cpids.id))
       WHERE id IN (SELECT root FROM traces WHERE id IN (SELECT id FROM left_traces))`,
    )
    .execute(db)
  for (const table of ['outbox', 'trace_services', 'trace_writes', 'awaited_parents', 'change_spans']) {
    await sql.raw(`DELETE FROM ${table} WHERE trace IN (SELECT id FROM left_traces)`).execute(db)
  }
  await sql.raw('DELETE FROM traces WHERE id IN (SELECT id FROM left_traces)').execute(db)
  await sql.raw('DROP TABLE left_traces').execute(db)
}
