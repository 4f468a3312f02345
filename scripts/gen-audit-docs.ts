import { MERGELOG_REFUSALS } from '../src/model/merge-graph.ts'
import { migrate } from '../src/store/sqlite/migrate.ts'
import { openForWriting } from '../src/store/sqlite/open-database.ts'
import { AUDIT_VIEWS } from './audit-views.ts'
import { markdownTable } from './markdown-table.ts'

export const AUDIT_VIEWS_DOCS = new URL('../docs/reference/audit-views.md', import.meta.url)

const HEADINGS = ['View', 'A row for', 'Columns']

const INTRODUCTION = `<!-- Written by npm run gen from scripts/gen-audit-docs.ts and the schema; change it there. -->

# Views for audits

For whoever writes SQL for an audit: every view \`audit_*\`, what it has a row for, and its columns. [audit.md](../audit.md) has questions to begin with.

\`=\` on the columns in bold uses an index, whatever the size of the database; anything else may read a whole table. A join by CPID with
\`audit_spans\`, \`audit_object_events\` or \`audit_logs\` reads a whole table too, since each of these is two views in one: join with their
\`audit_attributed_*\` half. Views keep their columns from version to version; new ones are added at the end.`

const NOTES = `## Columns

- \`object\` is a reference without its query: \`apps/v1/deployments/default/web\`, \`v1/pods/default/web-7c9-a\`.
- \`end\` is a word of SQL: write \`"end"\`.
- \`reason\` of a refused mergelog is one of ${MERGELOG_REFUSALS.map((reason) => `\`${reason}\``).join(', ')}.
  A \`contested\` one was accepted until the mergelog of a sender with a better claim took its place. \`sender\` is the sender as the
  connection proved it.
- \`state\` of a pruned CPID that arrives again is \`live\`. \`explained\` is \`no\` until its mergelog comes again. The CPID is not counted as
  missing, and its new spans go into an episode.
- \`stage\` of an item that was set aside is \`linking\`, \`waiting\`, \`settling\`, \`sending\` or \`pruning\`. \`item\` is the number of its arrival, of its trace, of the
  exporter's decision (0 for a position that could not be saved) or of its CPID.
- \`arrival\` numbers spans and log records in the order in which they came, with gaps.

## What is sent twice

What a sender sends again is here once, in the form that came first. Two spans are the same if trace id, span id, content, resource and scope are the same;
two log records if they give a time, and content, resource and scope are the same. Encoding, the order of fields and attributes, defaults
written or left out, and fields that OTLP does not know make no difference. Above 256 KiB the bytes are compared. A repeat that is encoded
otherwise leaves the views a moment later, once it is linked.

Two different spans with one span id are both here: in Zipkin the client's and the server's span of a call share it. Each span is compared
with 64 others of the same ids, and with 4 if it is larger than 1 KiB; a log record with 16 of the same time, or 4. A repeat of none of these is here twice, and so is
one of what was pruned.`

/** The text of docs/reference/audit-views.md. */
export async function renderAuditViewsDocs(): Promise<string> {
  const columns = await columnsOfViews()
  const rows = AUDIT_VIEWS.map(({ view, row, indexed }) => [
    `\`${view}\``,
    row,
    (columns.get(view) ?? []).map((name) => (indexed.includes(name) ? `**${name}**` : name)).join(', '),
  ])
  return `${[INTRODUCTION, markdownTable(HEADINGS, rows), NOTES].join('\n\n')}\n`
}

/** The columns of every view of a new database. */
export async function columnsOfViews(): Promise<Map<string, string[]>> {
  const db = openForWriting(':memory:')
  await migrate(db)
  const rows = db
    .prepare<[], { view: string; name: string }>(
      `SELECT v.name AS view, c.name FROM sqlite_schema v JOIN pragma_table_info(v.name) c
       WHERE v.type = 'view' ORDER BY v.name, c.cid`,
    )
    .all()
  db.close()
  const columns = new Map<string, string[]>()
  for (const { view, name } of rows) columns.set(view, [...(columns.get(view) ?? []), name])
  return columns
}
