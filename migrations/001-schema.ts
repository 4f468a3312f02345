import { sql, type Kysely } from 'kysely'
import { ARRIVALS_AND_GRAPH } from './schema/arrivals-and-graph.ts'
import { AUDIT_VIEWS } from './schema/audit-views.ts'
import { LINKING } from './schema/linking.ts'
import { LOG_FORWARDING } from './schema/log-forwarding.ts'

/** What arrives, the merge graph, what was decided, and what an auditor reads of it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...ARRIVALS_AND_GRAPH, ...LINKING, ...LOG_FORWARDING, ...AUDIT_VIEWS])
    await sql.raw(statement).execute(db)
}
