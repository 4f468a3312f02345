/** A view that auditors ask: what it has a row for, and the columns by which `=` uses an index. The text may be Markdown. */
interface AuditView {
  readonly view: string
  readonly row: string
  readonly indexed: readonly string[]
}

export const AUDIT_VIEWS: readonly AuditView[] = [
  {
    view: 'audit_cpids',
    row: 'Each CPID, with who made it and for which object. `kind` is `root`, `merge` or `unknown`, and `state` is `live` or `pruned`',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_mergelogs', row: 'Each mergelog', indexed: ['cpid', 'object'] },
  { view: 'audit_edges', row: 'Each source of a mergelog', indexed: ['source', 'cpid'] },
  {
    view: 'audit_cascades',
    row: 'Each trace of a cascade. Episode 0 is the main trace. A later episode has what came after the cascade had settled, or continues a full trace; then `continues` is the first trace. `missed_versions` is how many versions are likely to be missing before the writes that `gaps` counts',
    indexed: ['root', 'object'],
  },
  {
    view: 'audit_cascade_spans',
    row: 'Each span of each trace, with its parent in that trace. A trace that began before a late mergelog gave its CPID sources is here too; `audit_cascades` leaves it out, because it is not a cascade. `copy` says whether the span is in another trace too. `activity` is `no` if another change drives the span, so that it does not count in the cascade',
    indexed: ['root'],
  },
  {
    view: 'audit_cascade_changes',
    row: 'Each CPID in each trace, also in those that `audit_cascades` leaves out. `drives` says whether the root of the trace drives the CPID, or is only an ancestor of it',
    indexed: ['root', 'cpid'],
  },
  {
    view: 'audit_cascade_actors',
    row: 'Each user that wrote in a trace of a cascade in a [watched cluster](../audit.md#who-changed-what-in-a-cluster-that-nobody-patched), or the service if the user is not known',
    indexed: ['root', 'actor'],
  },
  { view: 'audit_spans', row: 'Each span, as it was received', indexed: ['cpid'] },
  {
    view: 'audit_object_events',
    row: 'Each object that a span `observed` or `wrote`, with the time at which the span ended',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_logs', row: 'Each log record', indexed: ['cpid'] },
  {
    view: 'audit_attributed_spans',
    row: 'Each span with a CPID. Use this view in a join by CPID',
    indexed: ['cpid'],
  },
  {
    view: 'audit_attributed_object_events',
    row: 'Each object that a span with a CPID observed or wrote',
    indexed: ['cpid', 'object'],
  },
  { view: 'audit_attributed_logs', row: 'Each log record with a CPID', indexed: ['cpid'] },
  { view: 'audit_unattributed_spans', row: 'Each span without a CPID', indexed: [] },
  {
    view: 'audit_unattributed_object_events',
    row: 'Each object that a span without a CPID observed or wrote',
    indexed: ['object'],
  },
  { view: 'audit_unattributed_logs', row: 'Each log record without a CPID', indexed: [] },
  { view: 'audit_rejected_mergelogs', row: 'Each refused mergelog. `sources` is JSON', indexed: [] },
  {
    view: 'audit_contested_mergelogs',
    row: 'Each refused mergelog of a CPID that has another mergelog, with the one that was kept. Two senders claim the CPID, or one sender used it twice',
    indexed: [],
  },
  {
    view: 'audit_rejected_items',
    row: 'Each request of which something was refused or remarked on: the newest 10,000, or fewer if messages are long or `max_bytes` is small',
    indexed: [],
  },
  {
    view: 'audit_exporters',
    row: 'Each exporter, with how many linked spans wait for it and how much its backend refused',
    indexed: [],
  },
  {
    view: 'audit_set_aside',
    row: 'Each item that was skipped because it could not be linked, settled, sent or pruned: the newest thousand of the last week',
    indexed: [],
  },
]
