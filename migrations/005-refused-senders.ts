import { sql, type Kysely } from 'kysely'

const millis = (ms: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000)`

/** Who sent a mergelog that was refused, as far as the connection proved it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE rejected_mergelogs ADD COLUMN sender TEXT').execute(db)
  await sql.raw('DROP VIEW audit_rejected_mergelogs').execute(db)
  await sql
    .raw(
      `CREATE VIEW audit_rejected_mergelogs AS
   SELECT ${millis('x.arrived_ms')} AS arrived, x.cpid, x.sources, x.reason, r.service, r.cluster, x.sender
   FROM rejected_mergelogs x
   LEFT JOIN scopes p ON p.id = x.scope LEFT JOIN resources r ON r.id = p.resource`,
    )
    .execute(db)
}
