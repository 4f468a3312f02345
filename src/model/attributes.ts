/** Names an outside program can see. Once released they never change. */
export const CPID_ID = 'cpid.id'
export const CPID_ANCESTORS = 'cpid.ancestors'
export const CPID_OBSERVED = 'cpid.observed'
export const CPID_WROTE = 'cpid.wrote'

/** The event name of a mergelog: a log record's event_name, or the name of a span event. */
export const MERGELOG_EVENT = 'cpid.mergelog'
export const CPID_NEW = 'cpid.new'
export const CPID_SOURCES = 'cpid.sources'
export const CPID_OBJECT = 'cpid.object'
export const CPID_WRITER = 'cpid.writer'
export const CPID_REASON = 'cpid.reason'

export const CPID_SYNTHETIC = 'cpid.synthetic'
export const CPID_TIME = 'cpid.time'
export const CPID_COPY = 'cpid.copy'
export const CPID_ROOTS = 'cpid.roots'
/** On `cascade`, once it has settled. */
export const CPID_CASCADE_DURATION_MS = 'cpid.cascade.duration_ms'
export const CPID_CASCADE_SPANS = 'cpid.cascade.spans'
export const CPID_CASCADE_SERVICES = 'cpid.cascade.services'
export const CPID_CASCADE_MERGES = 'cpid.cascade.merges'
export const CPID_CASCADE_MISSING = 'cpid.cascade.missing'
export const CPID_CASCADE_TRUNCATED = 'cpid.cascade.truncated'
/** On `cascade`: senders gave times that cannot be; they are left out of its start and end. */
export const CPID_CASCADE_CLOCK_SKEW = 'cpid.cascade.clock_skew'
/** On `merge`: the CPID that a change merged into, and its trace. */
export const CPID_MERGED_INTO = 'cpid.merged_into'
export const CPID_MERGED_INTO_TRACE_ID = 'cpid.merged_into.trace_id'
/** On the root of a later trace of a cascade: its number from 1, and the trace before it; and on that, the one after it. */
export const CPID_EPISODE = 'cpid.episode'
export const CPID_CONTINUES_TRACE_ID = 'cpid.continues.trace_id'
export const CPID_CONTINUED_IN_TRACE_ID = 'cpid.continued_in.trace_id'
export const CPID_ORIGINAL_TRACE_ID = 'cpid.original_trace_id'
/** Where the span is that this one hangs under in its cascade, when that is in another trace: 32 and 16 hex digits. */
export const CPID_CAUSE_TRACE_ID = 'cpid.cause.trace_id'
export const CPID_CAUSE_SPAN_ID = 'cpid.cause.span_id'

/** On a span in the cascade of a change of which nothing is left: the change that overwrote it. */
export const CPID_SUPERSEDED_BY = 'cpid.superseded_by'
/** On the span of a write that was seen from outside: `operator`, `self`, `exact` or `inferred`; and that versions before it were not seen. */
export const CPID_CAUSE = 'cpid.cause'
export const CPID_GAP = 'cpid.gap'
/** On such a span: how many versions of the object are likely to be missing before it, at least. */
export const CPID_GAP_MISSED = 'cpid.gap.missed'
/** On such a span: by which field, label or owner other objects were found that its controller is taken to have read. */
export const CPID_FOUND_BY = 'cpid.found_by'
/** On such a span: on whose behalf the write was made, as the written object tells; the revision that came with it, and who made that. */
export const CPID_ACTOR = 'cpid.actor'
export const CPID_REVISION = 'cpid.revision'
export const CPID_AUTHOR = 'cpid.author'
/** On a span that wrote an object: what owns it; and which fields the write changed, in words. */
export const CPID_OWNER = 'cpid.owner'
export const CPID_CHANGED = 'cpid.changed'
/** On such a span: the API server's number of the request, and the W3C trace context with which admission was called. */
export const CPID_AUDIT_ID = 'cpid.audit_id'
export const CPID_TRACEPARENT = 'cpid.traceparent'

/** In answers alone: the bytes of what is no protobuf, in base64. */
export const CPID_UNDECODABLE = 'cpid.undecodable'

export const SERVICE_NAME = 'service.name'
export const CLUSTER_NAME = 'k8s.cluster.name'
export const USER_NAME = 'user.name'
/** As the API server and the kubelet have them on their spans. */
export const AUDIT_ID = 'audit-id'
export const POD_UID = 'k8s.pod.uid'
export const CONTAINER_NAME = 'k8s.container.name'
export const POD_NAME = 'k8s.pod.name'
export const NAMESPACE_NAME = 'k8s.namespace.name'
