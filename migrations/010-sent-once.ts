import { sql, type Kysely } from 'kysely'

/**
 * By what a log record that is sent again is found; views leave out what was sent again and is not linked yet. A CPID that
 * was pruned and is seen again is not explained as long as its mergelog is gone. What was refused outlives the memory of requests.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of COLUMNS) await sql.raw(statement).execute(db)
  const change = async (view: string, changed: (text: string) => string): Promise<void> => {
    const { rows } = await sql<{
      text: string
    }>`SELECT sql AS text FROM sqlite_schema WHERE name = ${view}`.execute(db)
    const text = rows[0]?.text ?? ''
    await sql.raw(`DROP VIEW ${view}`).execute(db)
    await sql.raw(changed(text)).execute(db)
  }
  await change('audit_rejected_items', (text) =>
    text
      .replace('q.rejected AS items', 'q.items')
      .replace(/FROM requests q WHERE.*$/s, 'FROM rejected_items q'),
  )
  for (const [view, condition] of VIEWS)
    await change(view, (text) => `${text} ${text.endsWith(' IS NULL') ? 'AND' : 'WHERE'} ${condition}`)
  await change('audit_cpids', (text) =>
    text.replace('CASE c.explained WHEN 1 THEN', `CASE WHEN ${EXPLAINED} THEN`),
  )
}

/** The time comes first: records come about in its order, so that the index grows at its end. */
const COLUMNS = [
  `ALTER TABLE logs ADD COLUMN digest INTEGER`,
  `CREATE INDEX logs_by_digest ON logs (time_ns, digest) WHERE digest IS NOT NULL`,
  `CREATE TABLE rejected_items (
    id INTEGER PRIMARY KEY,
    arrived_ms INTEGER NOT NULL,
    items INTEGER NOT NULL,
    message TEXT NOT NULL
  ) STRICT`,
  `INSERT INTO rejected_items (arrived_ms, items, message)
   SELECT arrived_ms, rejected, message FROM requests WHERE rejected > 0 OR message <> '' ORDER BY id`,
]

const LINKED = '(SELECT linked_arrival FROM progress WHERE only = 1)'

const SPAN_ONCE = `(s.id <= ${LINKED} OR NOT EXISTS
     (SELECT 1 FROM spans f WHERE f.origin = s.origin AND f.span_id = s.span_id AND f.id < s.id))`

const LOG_ONCE = `(l.id <= ${LINKED} OR l.digest IS NULL OR NOT EXISTS
     (SELECT 1 FROM logs f WHERE f.time_ns = l.time_ns AND f.digest = l.digest AND f.id < l.id AND f.scope = l.scope
       AND f.raw = l.raw))`

const EXPLAINED = `c.explained = 1 AND (c.state = 1 OR c.has_mergelog = 1 AND c.unexplained_sources = 0)`

const VIEWS = [
  ['audit_attributed_spans', SPAN_ONCE],
  ['audit_unattributed_spans', SPAN_ONCE],
  ['audit_attributed_object_events', SPAN_ONCE],
  ['audit_unattributed_object_events', SPAN_ONCE],
  ['audit_attributed_logs', LOG_ONCE],
  ['audit_unattributed_logs', LOG_ONCE],
] as const
