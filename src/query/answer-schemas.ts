import { z } from 'zod'
import {
  type AnswerOf,
  cause,
  causeway,
  CpidText,
  gap,
  Milliseconds,
  Next,
  partial,
  SpanIdText,
  supersededBy,
  TimeText,
  TraceIdText,
  user,
} from './answer-fields.ts'

export const CpidFactsAnswer = z
  .strictObject({
    cpid: CpidText,
    timestamp: TimeText.nullable(),
    sources: z.array(CpidText).nullable(),
    explained: z.boolean().describe('Whether its mergelog and those of all its ancestors have arrived.'),
    service: z.string().nullable(),
    object: z.string().nullable(),
    partial,
  })
  .meta({ id: 'CpidFacts' })
export type CpidFactsAnswer = AnswerOf<typeof CpidFactsAnswer>

export const MatchingSpans = z
  .strictObject({
    root: CpidText,
    spans: z
      .array(SpanIdText)
      .describe(
        'The ids of the matching spans, each once, by trace, in the order in which they were sent out.',
      ),
    truncated: z.boolean().describe('Whether more than `limit` spans match.'),
    partial,
  })
  .meta({ id: 'MatchingSpans' })
export type MatchingSpans = AnswerOf<typeof MatchingSpans>

export const RelatedCpids = z
  .strictObject({ cpid: CpidText, related: z.array(CpidText), partial })
  .meta({ id: 'RelatedCpids' })

export const Ancestors = z
  .strictObject({ cpid: CpidText, ancestors: z.array(CpidText), partial })
  .meta({ id: 'Ancestors' })

export const Roots = z
  .strictObject({ cpid: CpidText, roots: z.array(CpidText), partial })
  .meta({ id: 'Roots' })

export const Mergelog = z
  .strictObject({
    cpid: CpidText,
    sources: z.array(CpidText),
    timestamp: TimeText,
    service: z.string().nullable(),
    object: z.string().nullable(),
    reason: z.string().nullable(),
    cluster: z.string().nullable(),
  })
  .meta({ id: 'Mergelog' })
export type Mergelog = AnswerOf<typeof Mergelog>

export const MergelogList = z
  .strictObject({ mergelogs: z.array(Mergelog), next: Next, partial })
  .meta({ id: 'MergelogList' })
export type MergelogList = AnswerOf<typeof MergelogList>

export const ServiceTimeAnswer = z
  .strictObject({
    service: z.string(),
    totalMs: z
      .number()
      .describe('The sum of the durations of all spans. A span inside another one counts too.'),
    selfMs: z.number().describe('The sum of the times of all spans that no span below covers.'),
    waitMs: z
      .number()
      .describe('The sum of the times from the end of a write to the start of a reconcile that observed it.'),
    spans: z.int(),
    errors: z.int(),
    firstStart: TimeText,
    lastEnd: TimeText,
  })
  .meta({ id: 'ServiceTime' })
export type ServiceTimeAnswer = AnswerOf<typeof ServiceTimeAnswer>

export const ClusterTimeAnswer = z
  .strictObject({
    cluster: z
      .string()
      .nullable()
      .describe('The `k8s.cluster.name` of the spans. It is null if they have none.'),
    ...ServiceTimeAnswer.shape,
  })
  .meta({ id: 'ClusterTime' })
export type ClusterTimeAnswer = AnswerOf<typeof ClusterTimeAnswer>

export const KindTimeAnswer = z
  .strictObject({
    kind: z
      .string()
      .describe(
        'The kind of object that the spans wrote, as `<apiVersion>/<resource>`. A span that wrote nothing counts under the kind that it observed first.',
      ),
    totalMs: Milliseconds,
    selfMs: Milliseconds,
    waitMs: Milliseconds,
    spans: z.int(),
    writes: z.int(),
    objects: z.int(),
  })
  .meta({ id: 'KindTime' })
export type KindTimeAnswer = AnswerOf<typeof KindTimeAnswer>

export const HeldWithinAnswer = z
  .strictObject({ spanId: SpanIdText, service: z.string(), name: z.string(), heldMs: Milliseconds })
  .meta({
    id: 'HeldWithin',
    description:
      'The span inside a step whose own time was the largest part of `heldMs`. It is null if that was the step itself.',
  })
export type HeldWithinAnswer = AnswerOf<typeof HeldWithinAnswer>

export const CriticalStep = z
  .strictObject({
    spanId: SpanIdText,
    traceId: TraceIdText,
    service: z.string(),
    name: z.string(),
    offsetMs: z
      .number()
      .describe('The time from the start of the cascade to the start of the step, in milliseconds.'),
    durationMs: Milliseconds,
    selfMs: z
      .number()
      .describe(
        'The part of its duration that the spans below it do not cover, in milliseconds. Spans that it only caused cover nothing.',
      ),
    waitMs: z
      .number()
      .describe(
        'The time from when the previous step handed over to the start of this one, in milliseconds.',
      ),
    heldMs: z
      .number()
      .describe(
        'The time from the start of this step to the start of the next one, or to its own end if that is earlier, in milliseconds.',
      ),
    mostly: HeldWithinAnswer.nullable(),
  })
  .meta({ id: 'CriticalStep' })
export type CriticalStep = AnswerOf<typeof CriticalStep>

export const CriticalPath = z
  .strictObject({
    durationMs: z
      .number()
      .describe(
        'The time from the start of the first step to the end of the last, in milliseconds. It is the sum of all `waitMs` and `heldMs`.',
      ),
    longestStep: z
      .int()
      .nullable()
      .describe('The position in `steps` of the step with the longest `heldMs`.'),
    longestWait: z
      .int()
      .nullable()
      .describe('The position in `steps` of the step with the longest `waitMs`.'),
    steps: z.array(CriticalStep),
  })
  .meta({ id: 'CriticalPath' })
export type CriticalPath = AnswerOf<typeof CriticalPath>

const references = z.array(z.string()).describe('Object references, at most 128. Absent if there are none.')

export const Span = z
  .strictObject({
    spanId: SpanIdText,
    parentSpanId: SpanIdText.nullable(),
    traceId: TraceIdText.optional().describe(
      'The id of its trace. Absent if it is that of the trace in which the span is listed.',
    ),
    depth: z.int().describe('The number of spans above it in the tree. The root has 0.'),
    name: z.string(),
    service: z.string(),
    cluster: z
      .string()
      .optional()
      .describe('Its `k8s.cluster.name`. Absent if it has none, or that of the cascade.'),
    cpid: CpidText.nullable(),
    start: TimeText,
    offsetMs: z
      .number()
      .describe('The time from the start of the cascade to the start of the span, in milliseconds.'),
    durationMs: Milliseconds,
    selfMs: z
      .number()
      .describe(
        'The part of its duration that the spans below it do not cover, in milliseconds. Spans that it only caused cover nothing.',
      ),
    waitMs: z
      .number()
      .optional()
      .describe('The time from the write that it observed to its start, in milliseconds. Absent if it is 0.'),
    kind: z.int().describe('The span kind, as a number of OTLP.'),
    status: z.int().describe('The status code, as a number of OTLP. 2 is an error.'),
    synthetic: z.boolean().describe('Whether Causeway added this span. Nobody sent it.'),
    copy: z.boolean().describe('Whether this is a copy of a span that is also in another trace.'),
    activity: z
      .literal(false)
      .optional()
      .describe('False if another change drives this span, so that it does not count in this cascade.'),
    parentMissing: z.boolean().describe('Whether its parent has not arrived, or was pruned.'),
    beingPlaced: z
      .literal(true)
      .optional()
      .describe(
        'True if the span has arrived but waits for what decides its place. No figure counts it, and the critical path leads neither through it nor through the spans below it.',
      ),
    critical: z.literal(true).optional().describe('True if the span is on the critical path.'),
    wrote: references.optional(),
    observed: references.optional(),
    user,
    cause,
    gap,
  })
  .meta({ id: 'Span' })
export type Span = AnswerOf<typeof Span>

export const Trace = z
  .strictObject({
    traceId: TraceIdText,
    episode: z.int().describe('The number of the episode. The main trace has 0.'),
    state: z.enum(['open', 'settled']),
    start: TimeText,
    lastActivity: TimeText,
    continues: TraceIdText.nullable().describe('The id of the full trace that this one continues.'),
    spans: z
      .array(Span)
      .describe(
        'The spans, each parent before its children. Spans of a trace that continues another one are listed in that other one.',
      ),
  })
  .meta({ id: 'Trace' })
export type Trace = AnswerOf<typeof Trace>

export const CascadeOutline = z
  .strictObject({
    root: CpidText,
    traceId: TraceIdText,
    state: z.enum(['open', 'settled']),
    start: TimeText,
    lastActivity: TimeText,
    durationMs: z.number().describe('The time from the first to the last activity, in milliseconds.'),
    traceCount: z
      .int()
      .describe('The number of traces that were sent out for it: the main one and its episodes.'),
    spans: z.int().describe('The number of received spans in it.'),
    failed: z.int().describe('The number of received spans whose status is an error.'),
    services: z.int(),
    merges: z.int(),
    missing: z.int().describe('The number of CPIDs whose mergelog has not arrived.'),
    truncated: z
      .boolean()
      .describe(
        'Whether something in it descends from more than `max_fanout` open roots, so that traces lack it.',
      ),
    clockSkew: z
      .boolean()
      .describe(
        'Whether a sender gave an implausible time. `start`, `lastActivity` and `durationMs` leave it out.',
      ),
    object: z.string().nullable().describe('The object in the root’s mergelog.'),
    service: z
      .string()
      .nullable()
      .describe(
        'The service that made the change, as the root’s mergelog says, or else the sender of that mergelog.',
      ),
    actor: z
      .string()
      .nullable()
      .describe('Who began the change: the user or the git revision if one is known, else the service.'),
    gaps: z
      .int()
      .describe('The number of inferred writes before which versions of the object were not observed.'),
    cluster: z.string().nullable().describe('The cluster of the sender of the root’s mergelog.'),
    reason: z.string().nullable().describe('The reason in the root’s mergelog.'),
    supersededBy,
  })
  .meta({ id: 'CascadeOutline' })
export type CascadeOutline = AnswerOf<typeof CascadeOutline>

export const ListedCascade = z
  .strictObject({ ...CascadeOutline.shape, causeway })
  .meta({ id: 'ListedCascade' })
export type ListedCascade = AnswerOf<typeof ListedCascade>

export const CascadeList = z
  .strictObject({ cascades: z.array(ListedCascade), next: Next, partial })
  .meta({ id: 'CascadeList' })
export type CascadeList = AnswerOf<typeof CascadeList>

export const CascadeOfCpid = z
  .strictObject({
    ...CascadeOutline.shape,
    drives: z
      .boolean()
      .describe(
        'Whether its root drives the CPID. If not, the CPID only descends from it, or nothing of the CPID is linked yet.',
      ),
    causeway,
  })
  .meta({ id: 'CascadeOfCpid' })
export type CascadeOfCpid = AnswerOf<typeof CascadeOfCpid>

export const CascadesOfCpid = z
  .strictObject({ cascades: z.array(CascadeOfCpid), next: Next, partial })
  .meta({ id: 'CascadesOfCpid' })
export type CascadesOfCpid = AnswerOf<typeof CascadesOfCpid>

export const Cascade = z
  .strictObject({
    ...CascadeOutline.shape,
    missedVersions: z
      .int()
      .describe(
        'A lower bound of the number of versions that are missing before the writes that `gaps` counts.',
      ),
    missingCpids: z.array(CpidText).describe('The CPIDs whose mergelog has not arrived, at most 100.'),
    timePerService: z
      .array(ServiceTimeAnswer)
      .describe('The times of each service, largest `totalMs` first.'),
    timePerCluster: z
      .array(ClusterTimeAnswer)
      .describe(
        'The times of the services in each cluster, largest `totalMs` first. The list is empty if all spans are in one cluster.',
      ),
    timePerKind: z
      .array(KindTimeAnswer)
      .describe('The times of each kind of object, largest `totalMs` first.'),
    criticalPath: CriticalPath,
    mergelogs: z.array(Mergelog).describe('The mergelogs of the cascade, at most 1000.'),
    mergelogsTruncated: z.literal(true).optional().describe('True if there are more than 1000 mergelogs.'),
    traces: z.array(Trace).describe('Its traces, the main one first.'),
    partial,
  })
  .meta({ id: 'Cascade' })
export type Cascade = AnswerOf<typeof Cascade>

const differenceMs = z.number().describe('The `totalMs` in `b` minus that in `a`.')

export const Comparison = z
  .strictObject({
    a: CascadeOutline,
    b: CascadeOutline,
    durationMs: z.strictObject({
      a: Milliseconds,
      b: Milliseconds,
      difference: z.number().describe('The duration of `b` minus that of `a`.'),
    }),
    services: z
      .array(
        z.strictObject({
          service: z.string(),
          a: ServiceTimeAnswer.nullable(),
          b: ServiceTimeAnswer.nullable(),
          differenceMs,
        }),
      )
      .describe('The times of each service in both cascades, the largest slow-down first.'),
    kinds: z
      .array(
        z.strictObject({
          kind: z.string(),
          a: KindTimeAnswer.nullable(),
          b: KindTimeAnswer.nullable(),
          differenceMs,
        }),
      )
      .describe('The times of each kind of object in both cascades, the largest slow-down first.'),
    partial,
  })
  .meta({ id: 'Comparison' })
export type Comparison = AnswerOf<typeof Comparison>

export const GraphNode = z
  .strictObject({
    cpid: CpidText,
    timestamp: TimeText.nullable(),
    service: z.string().nullable(),
    object: z.string().nullable(),
    reason: z.string().nullable(),
    cluster: z.string().nullable(),
    root: z.boolean().describe('Whether no edge leads to it, so that it has no known sources.'),
    explained: z.boolean(),
    distance: z
      .int()
      .describe(
        'The number of edges between it and the CPID that was asked about. It is negative for ancestors.',
      ),
    supersededBy,
  })
  .meta({ id: 'GraphNode' })
export type GraphNode = AnswerOf<typeof GraphNode>

export const Graph = z
  .strictObject({
    cpid: CpidText,
    nodes: z.array(GraphNode).describe('The CPID that was asked about, then the others, nearest first.'),
    truncated: z.boolean().describe('Whether there are more than `limit` nodes.'),
    edges: z.array(z.strictObject({ source: CpidText, target: CpidText })),
    partial,
  })
  .meta({ id: 'Graph' })
export type Graph = AnswerOf<typeof Graph>

export const Found = z
  .strictObject({
    cpid: z.strictObject({ cpid: CpidText, state: z.enum(['known', 'pruned', 'unknown']) }).nullable(),
    cpids: z.array(CpidText).describe('The CPIDs that begin with the text, if there are several.'),
    cascades: z.array(CascadeOutline),
    objects: z.array(z.string()),
    partial,
  })
  .meta({ id: 'Found' })
export type Found = AnswerOf<typeof Found>

export const Facets = z
  .strictObject({
    services: z.array(z.string()),
    clusters: z.array(z.string()),
    actors: z
      .array(z.string())
      .describe('The users who wrote, and the services for whose writes no user is known.'),
    namespaces: z.array(z.string()),
    kinds: z.array(z.string()),
    partial,
  })
  .meta({ id: 'Facets' })
export type Facets = AnswerOf<typeof Facets>

/** An OTLP/JSON object. Its schema is that of OTLP. */
const Any = z.looseObject({})

const ResourceSpans = z
  .strictObject({
    resource: Any.optional(),
    scopeSpans: z.array(Any),
    schemaUrl: z.string().optional(),
  })
  .meta({ id: 'ResourceSpans', description: 'An OTLP/JSON object.' })

const ResourceLogs = z
  .strictObject({
    resource: Any.optional(),
    scopeLogs: z.array(Any),
    schemaUrl: z.string().optional(),
  })
  .meta({ id: 'ResourceLogs', description: 'An OTLP/JSON object.' })

export const SpanList = z
  .strictObject({ resourceSpans: z.array(ResourceSpans), next: Next.optional(), partial })
  .meta({ id: 'SpanList' })

export const LogList = z
  .strictObject({ resourceLogs: z.array(ResourceLogs), next: Next.optional(), partial })
  .meta({ id: 'LogList' })

export const DashboardSettings = z
  .strictObject({
    traceUrl: z
      .string()
      .nullable()
      .describe('The URL of a trace in the backend, with the placeholders `{trace_id}` and `{span_id}`.'),
    version: z.string(),
    archive: z
      .boolean()
      .describe('Whether an archive is asked too. Lists then also show what other Causeways wrote there.'),
  })
  .meta({ id: 'DashboardSettings' })
export type DashboardSettings = AnswerOf<typeof DashboardSettings>
