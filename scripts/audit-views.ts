/** A view that auditors ask: what it has a row for, and the columns by which `=` uses an index. The text may be Markdown. */
interface AuditView {
  readonly view: string
  readonly row: string
  readonly indexed: readonly string[]
}

export const AUDIT_VIEWS: readonly AuditView[] = [
  {
    view: 'audit_cpids',
    row: 'Each CPID: kind `root`, `merge` or `unknown`, state `live` or `pruned`; who made it, for what object',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_mergelogs', row: 'Each mergelog', indexed: ['cpid', 'object'] },
  { view: 'audit_edges', row: 'Each source of a mergelog', indexed: ['source', 'cpid'] },
  {
    view: 'audit_cascades',
    row: 'Each trace of a cascade. Episode 0 is the main one. A later one is for what came after the cascade had settled, or goes on where a trace was full: then `continues` is the first trace. `missed_versions`: how many versions are likely to be missing before the writes that `gaps` counts',
    indexed: ['root', 'object'],
  },
  {
    view: 'audit_cascade_spans',
    row: 'Each span of each trace, with its parent there. A trace that began before a late mergelog gave its CPID sources stands here too; it is no cascade, so `audit_cascades` leaves it out. `copy`: it is in another trace too. `activity` is `no` where another change drives it: then it does not count in the cascade',
    indexed: ['root'],
  },
  {
    view: 'audit_cascade_changes',
    row: "Each CPID in each trace, those that `audit_cascades` leaves out too; `drives` where the trace's root drives it, `no` where the root is only an ancestor",
    indexed: ['root', 'cpid'],
  },
  {
    view: 'audit_cascade_actors',
    row: 'Each user that wrote in a trace of a cascade, or the service where the user is not known, in a [watched cluster](../audit.md#who-changed-what-in-a-cluster-that-nobody-patched)',
    indexed: ['root', 'actor'],
  },
  { view: 'audit_spans', row: 'Each span, as it was received', indexed: ['cpid'] },
  {
    view: 'audit_object_events',
    row: 'Each object that a span `observed` or `wrote`, at the end of the span',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_logs', row: 'Each log record', indexed: ['cpid'] },
  {
    view: 'audit_attributed_spans',
    row: 'The spans with a CPID: take this in a join by CPID',
    indexed: ['cpid'],
  },
  {
    view: 'audit_attributed_object_events',
    row: 'What spans with a CPID named',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_attributed_logs', row: 'The log records with a CPID', indexed: ['cpid'] },
  { view: 'audit_unattributed_spans', row: 'The spans without', indexed: [] },
  { view: 'audit_unattributed_object_events', row: 'What spans without a CPID named', indexed: ['object'] },
  { view: 'audit_unattributed_logs', row: 'The log records without', indexed: [] },
  { view: 'audit_rejected_mergelogs', row: 'Each mergelog that was refused: `sources` as JSON', indexed: [] },
  {
    view: 'audit_contested_mergelogs',
    row: 'Each refused mergelog of a CPID that has another, and the one that stands: two senders claim the CPID, or one made it twice',
    indexed: [],
  },
  {
    view: 'audit_rejected_items',
    row: 'Each request of which something was refused or remarked on, the newest 10,000, fewer of long messages and of a small `max_bytes`',
    indexed: [],
  },
  {
    view: 'audit_exporters',
    row: 'Each exporter: how many linked spans wait for it, how much its backend refused',
    indexed: [],
  },
  {
    view: 'audit_set_aside',
    row: 'What could not be linked, settled, sent or pruned, so that all else could be: the newest thousand of a week',
    indexed: [],
  },
]
