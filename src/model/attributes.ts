/** Names that other programs rely on. Once released they never change. */
export const CPID_ID = 'cpid.id'
export const CPID_ANCESTORS = 'cpid.ancestors'
export const CPID_OBSERVED = 'cpid.observed'
export const CPID_WROTE = 'cpid.wrote'

/** The name of a mergelog: in event_name of a log record, or as the name of a span event. */
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
/** Of a `cascade` span: the duration of the cascade, once it has settled. */
export const CPID_CASCADE_DURATION_MS = 'cpid.cascade.duration_ms'
export const CPID_CASCADE_SPANS = 'cpid.cascade.spans'
export const CPID_CASCADE_SERVICES = 'cpid.cascade.services'
export const CPID_CASCADE_MERGES = 'cpid.cascade.merges'
export const CPID_CASCADE_MISSING = 'cpid.cascade.missing'
export const CPID_CASCADE_TRUNCATED = 'cpid.cascade.truncated'
/** Of a `cascade` span: senders gave impossible times, which its start and end leave out. */
export const CPID_CASCADE_CLOCK_SKEW = 'cpid.cascade.clock_skew'
/** Of a `merge` span: the CPID that a change merged into, and the trace of that CPID. */
export const CPID_MERGED_INTO = 'cpid.merged_into'
export const CPID_MERGED_INTO_TRACE_ID = 'cpid.merged_into.trace_id'
/** Of the root span of an episode: its number from 1, and the id of the trace before it. That trace names the one after it. */
export const CPID_EPISODE = 'cpid.episode'
export const CPID_CONTINUES_TRACE_ID = 'cpid.continues.trace_id'
export const CPID_CONTINUED_IN_TRACE_ID = 'cpid.continued_in.trace_id'
export const CPID_ORIGINAL_TRACE_ID = 'cpid.original_trace_id'
/** The parent of a span in its cascade, if that is in another trace: trace id (32 hex digits) and span id (16). */
export const CPID_CAUSE_TRACE_ID = 'cpid.cause.trace_id'
export const CPID_CAUSE_SPAN_ID = 'cpid.cause.span_id'

/** Of a span in the cascade of a superseded change: the change that overwrote it. */
export const CPID_SUPERSEDED_BY = 'cpid.superseded_by'
/** Of the span of an observed write: its cause (`operator`, `self`, `exact` or `inferred`), and whether versions before it were missed. */
export const CPID_CAUSE = 'cpid.cause'
export const CPID_GAP = 'cpid.gap'
/** Of the span of an observed write: the least number of versions that are missing before it. */
export const CPID_GAP_MISSED = 'cpid.gap.missed'
/** Of the span of an observed write: by which field, label or owner the objects that its controller read were found. */
export const CPID_FOUND_BY = 'cpid.found_by'
/** Of the span of an observed write: who requested it, as the object says; the revision that was applied, and the revision's author. */
export const CPID_ACTOR = 'cpid.actor'
export const CPID_REVISION = 'cpid.revision'
export const CPID_AUTHOR = 'cpid.author'
/** Of a span that wrote an object: the owner of the object, and which fields the write changed, in words. */
export const CPID_OWNER = 'cpid.owner'
export const CPID_CHANGED = 'cpid.changed'
/** Of the span of an observed write: the audit id of the request, and the W3C trace context in which admission was called. */
export const CPID_AUDIT_ID = 'cpid.audit_id'
export const CPID_TRACEPARENT = 'cpid.traceparent'

/** Only in answers: bytes that are not valid protobuf, in base64. */
export const CPID_UNDECODABLE = 'cpid.undecodable'

export const SERVICE_NAME = 'service.name'
export const CLUSTER_NAME = 'k8s.cluster.name'
export const USER_NAME = 'user.name'
/** Attributes that the API server and the kubelet set on their spans. */
export const AUDIT_ID = 'audit-id'
export const POD_UID = 'k8s.pod.uid'
export const CONTAINER_NAME = 'k8s.container.name'
export const POD_NAME = 'k8s.pod.name'
export const NAMESPACE_NAME = 'k8s.namespace.name'
