import { type Kysely, sql } from 'kysely'
import { digestOfLog } from '../src/model/otlp/same-content.ts'

/**
 * Two spans may have the same trace id and span id. What views leave out is a span of the same bytes, resource and scope
 * as one before it that is not linked yet. A log record that is sent again is found by another digest, so the newest, which
 * may still be sent again, get that one. Of tombstones that are forgotten it is kept how late they were and which episode
 * none of them has had.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const view of VIEWS) {
    const { rows } = await sql<{
      text: string
    }>`SELECT sql AS text FROM sqlite_schema WHERE name = ${view}`.execute(db)
    const text = rows[0]?.text ?? ''
    await sql.raw(`DROP VIEW ${view}`).execute(db)
    await sql.raw(text.replace(SAME_IDS, `${SAME_IDS} AND f.scope = s.scope AND f.raw = s.raw`)).execute(db)
  }
  for (const statement of FORGOTTEN) await sql.raw(statement).execute(db)
  const { rows: newest } = await sql<{
    id: number
  }>`SELECT id FROM logs WHERE digest IS NOT NULL ORDER BY id DESC LIMIT ${sql.lit(NEWEST_LOGS)}`.execute(db)
  for (const { id } of newest) {
    const { rows } = await sql<{ raw: Buffer }>`SELECT raw FROM logs WHERE id = ${id}`.execute(db)
    for (const { raw } of rows)
      await sql`UPDATE logs SET digest = ${digestOfLog(raw)} WHERE id = ${id}`.execute(db)
  }
}

const SAME_IDS = 'f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id'
/** That a tombstone was forgotten shows in the numbers that are gone. */
const FORGOTTEN = [
  'ALTER TABLE progress ADD COLUMN forgotten_ms INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE progress ADD COLUMN forgotten_episode INTEGER NOT NULL DEFAULT 0',
  `UPDATE progress SET
     forgotten_ms = coalesce((SELECT max(first_seen_ms) FROM cpids WHERE state = 1), 0),
     forgotten_episode = max(1, coalesce((SELECT max(next_episode) FROM cpids), 1))
   WHERE (SELECT seq FROM sqlite_sequence WHERE name = 'cpids') > (SELECT count(*) FROM cpids)`,
]

const NEWEST_LOGS = 5_000
const VIEWS = [
  'audit_attributed_spans',
  'audit_unattributed_spans',
  'audit_attributed_object_events',
  'audit_unattributed_object_events',
]
