import { sql, type Kysely } from 'kysely'

/**
 * Whose a CPID is by the first span that carried it, where senders are told apart: 8 bytes of a hash of its cluster, 8 of its
 * cluster and service. What was contested is among the refused mergelogs, and beside the one that stands in a view.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE cpids ADD COLUMN claim BLOB',
  `CREATE VIEW audit_contested_mergelogs AS
   SELECT x.arrived, x.cpid, x.reason, x.service, x.cluster, x.sources, x.sender, m.arrived AS kept_arrived,
     m.service AS kept_service, m.cluster AS kept_cluster,
     (SELECT json_group_array(e.source) FROM audit_edges e WHERE e.cpid = m.cpid) AS kept_sources
   FROM audit_rejected_mergelogs x JOIN audit_mergelogs m ON m.cpid = x.cpid
   WHERE x.reason IN ('contested', 'different_sources')`,
]
