import { sql, type Kysely } from 'kysely'

/**
 * Each decision names the one before it in its trace, and the trace the newest. An index by trace had every commit rewrite a leaf for
 * each trace that it sent something into; by span, what is added stands together.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

/** Chains all decisions anew. */
export const CHAIN_DECISIONS = [
  `UPDATE outbox SET before = o.before FROM (
     SELECT decision, lag(decision) OVER (PARTITION BY trace ORDER BY decision) AS before FROM outbox WHERE trace <> 0
   ) o WHERE o.decision = outbox.decision AND o.before IS NOT outbox.before`,
  `UPDATE traces SET newest_decision = o.newest FROM (
     SELECT t.id, max(decision) AS newest FROM traces t LEFT JOIN outbox ON outbox.trace = t.id GROUP BY t.id
   ) o WHERE o.id = traces.id AND o.newest IS NOT traces.newest_decision`,
]

const STATEMENTS = [
  'ALTER TABLE outbox ADD COLUMN before INTEGER',
  'ALTER TABLE traces ADD COLUMN newest_decision INTEGER',
  ...CHAIN_DECISIONS,
  'DROP INDEX outbox_by_trace',
  'CREATE INDEX outbox_by_span ON outbox (span, trace) WHERE span IS NOT NULL',
]
