import { z } from 'zod'
import { WRITE_CAUSES } from '../model/seen-write.ts'

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T

/** The TypeScript type of the answers that a schema describes. */
export type AnswerOf<Shape extends z.ZodType> = Frozen<z.infer<Shape>>

/** A CPID as it is written in answers. */
export const CpidText = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ id: 'Cpid', description: 'A CPID: lower case, dashed.' })

const TraceIdText = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .meta({ id: 'TraceId' })

export const SpanIdText = z
  .string()
  .regex(/^[0-9a-f]{16}$/)
  .meta({ id: 'SpanId' })

export const TimeText = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
  .meta({ id: 'Time', description: 'RFC 3339 in UTC with nanoseconds.' })

/** The cursor of the next page. */
export const Next = z
  .string()
  .nullable()
  .meta({ id: 'Next', description: 'asks for the rest as `after`; null at the end' })

const Milliseconds = z.number().describe('milliseconds')

/** A field of answers that also come from an archive. */
export const partial = z
  .string()
  .optional()
  .describe('what is not in this answer, and why: such as that the archive does not answer')
export const causeway = z
  .string()
  .nullable()
  .optional()
  .describe('what the Causeway that says so is called in the archive; only where an archive is asked too')

export const CpidFactsAnswer = z
  .strictObject({
    cpid: CpidText,
    timestamp: TimeText.nullable(),
    sources: z.array(CpidText).nullable(),
    explained: z.boolean().describe('its mergelog and those of all its ancestors have arrived'),
    service: z.string().nullable(),
    object: z.string().nullable(),
    partial,
  })
  .meta({ id: 'CpidFacts' })
export type CpidFactsAnswer = AnswerOf<typeof CpidFactsAnswer>

export const MatchingSpans = z
  .strictObject({
    root: CpidText,
    spans: z.array(SpanIdText).describe('each once, by trace, in the order in which they were sent'),
    truncated: z.boolean().describe('more spans match than `limit`'),
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
    totalMs: z.number().describe('durations added up; a span within another one counts too'),
    selfMs: z.number().describe('what spans below do not cover'),
    waitMs: z.number().describe('from writes to the starts of the reconciles that observed them'),
    spans: z.int(),
    errors: z.int(),
    firstStart: TimeText,
    lastEnd: TimeText,
  })
  .meta({ id: 'ServiceTime' })
export type ServiceTimeAnswer = AnswerOf<typeof ServiceTimeAnswer>

export const ClusterTimeAnswer = z
  .strictObject({
    cluster: z.string().nullable().describe('`k8s.cluster.name` of the spans; null where they have none'),
    ...ServiceTimeAnswer.shape,
  })
  .meta({ id: 'ClusterTime' })
export type ClusterTimeAnswer = AnswerOf<typeof ClusterTimeAnswer>

export const KindTimeAnswer = z
  .strictObject({
    kind: z.string().describe('`<apiVersion>/<resource>` of what spans wrote, or else observed first'),
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
      'The span inside a step whose own time is most of what the step held up; null where the step did it.',
  })
export type HeldWithinAnswer = AnswerOf<typeof HeldWithinAnswer>

export const CriticalStep = z
  .strictObject({
    spanId: SpanIdText,
    traceId: TraceIdText,
    service: z.string(),
    name: z.string(),
    offsetMs: z.number().describe('from the start of the cascade'),
    durationMs: Milliseconds,
    selfMs: z.number().describe('what spans below it, of its own work, do not cover'),
    waitMs: z.number().describe('from when the step before let go to when this one began'),
    heldMs: z
      .number()
      .describe('from there to the start of the next step, or to its own end when that is earlier'),
    mostly: HeldWithinAnswer.nullable(),
  })
  .meta({ id: 'CriticalStep' })
export type CriticalStep = AnswerOf<typeof CriticalStep>

export const CriticalPath = z
  .strictObject({
    durationMs: z
      .number()
      .describe('from the start of the first step to the end of the last: all waits and held times'),
    longestStep: z
      .int()
      .nullable()
      .describe('position in `steps` of the one that held up the cascade longest'),
    longestWait: z
      .int()
      .nullable()
      .describe('position in `steps` of the one before which the wait was longest'),
    steps: z.array(CriticalStep),
  })
  .meta({ id: 'CriticalPath' })
export type CriticalPath = AnswerOf<typeof CriticalPath>

/** A field of writes that were observed from outside the cluster. */
export const user = z
  .string()
  .optional()
  .describe('`user.name` of a write seen from outside, where it is known')
export const cause = z
  .enum(WRITE_CAUSES)
  .optional()
  .describe(
    'why a write seen from outside was made: an operator did it; a controller began it by itself (self); or it follows from versions that it names or copies (exact), or from the newest that there were (inferred)',
  )
export const gap = z
  .literal(true)
  .optional()
  .describe('versions of the object between this one and the last that is known were not seen')

const references = z.array(z.string()).describe('object references, at most 128; left out when empty')

export const Span = z
  .strictObject({
    spanId: SpanIdText,
    parentSpanId: SpanIdText.nullable(),
    traceId: TraceIdText.optional().describe(
      'left out where it is that of the trace in which the span is listed',
    ),
    depth: z.int().describe('0 for the root'),
    name: z.string(),
    service: z.string(),
    cluster: z
      .string()
      .optional()
      .describe('its `k8s.cluster.name`; left out where it has none, or that of the cascade'),
    cpid: CpidText.nullable(),
    start: TimeText,
    offsetMs: z.number().describe('from the start of the cascade'),
    durationMs: Milliseconds,
    selfMs: z.number().describe('what spans below it, of its own work, do not cover'),
    waitMs: z.number().optional().describe('from the write it observed to its start; left out when 0'),
    kind: z.int().describe("OTLP's number"),
    status: z.int().describe("OTLP's number: 2 is an error"),
    synthetic: z.boolean().describe("of Causeway's own making"),
    copy: z.boolean().describe('it also stands in another trace'),
    activity: z.literal(false).optional().describe('another change drives it: it does not count here'),
    parentMissing: z.boolean().describe('its parent has not arrived or was pruned'),
    beingPlaced: z
      .literal(true)
      .optional()
      .describe(
        'it has arrived and waits for what decides its place: no figure counts it, and the critical path leads neither through it nor through what is below it',
      ),
    critical: z.literal(true).optional().describe('it lies on the critical path'),
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
    episode: z.int().describe('0 is the main trace'),
    state: z.enum(['open', 'settled']),
    start: TimeText,
    lastActivity: TimeText,
    continues: TraceIdText.nullable().describe('the trace that was full before it'),
    spans: z
      .array(Span)
      .describe('parents before children; those of a trace that another one continues stand there'),
  })
  .meta({ id: 'Trace' })
export type Trace = AnswerOf<typeof Trace>

export const supersededBy = CpidText.optional().describe(
  'the change that overwrote it before any controller had acted on it: nothing is left of it',
)

export const CascadeOutline = z
  .strictObject({
    root: CpidText,
    traceId: TraceIdText,
    state: z.enum(['open', 'settled']),
    start: TimeText,
    lastActivity: TimeText,
    durationMs: z.number().describe('from the first to the last activity'),
    traceCount: z.int().describe('its outgoing traces: the main one and its episodes'),
    spans: z.int().describe('received spans'),
    failed: z.int().describe('how many of those failed: their status is an error'),
    services: z.int(),
    merges: z.int(),
    missing: z.int().describe('CPIDs whose mergelog has not arrived'),
    truncated: z.boolean().describe('something in it descends from more open roots than max_fanout'),
    clockSkew: z
      .boolean()
      .describe('a sender gave times that cannot be; `start` and `lastActivity` leave them out'),
    object: z.string().nullable().describe("the object of the root's mergelog"),
    service: z
      .string()
      .nullable()
      .describe("who made the change: as the root's mergelog says, or else its sender"),
    actor: z
      .string()
      .nullable()
      .describe('who began it: the user or the revision, where one is known, else the service'),
    gaps: z.int().describe('writes seen from outside before which versions of their objects were not seen'),
    cluster: z.string().nullable().describe('the cluster of whoever sent it'),
    reason: z.string().nullable().describe("the reason of the root's mergelog"),
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
      .describe('its root drives the CPID; else it was passed on, or nothing of it is linked yet'),
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
      .describe('how many versions are likely to be missing before the writes that `gaps` counts, at least'),
    missingCpids: z.array(CpidText).describe('CPIDs whose mergelog has not arrived, at most 100'),
    timePerService: z.array(ServiceTimeAnswer).describe('most time first'),
    timePerCluster: z
      .array(ClusterTimeAnswer)
      .describe('the services in each cluster, most time first; empty where all is in one cluster'),
    timePerKind: z.array(KindTimeAnswer).describe('most time first'),
    criticalPath: CriticalPath,
    mergelogs: z.array(Mergelog).describe('at most 1000'),
    mergelogsTruncated: z.literal(true).optional().describe('there are more than 1000 mergelogs'),
    traces: z.array(Trace).describe('the main one first'),
    partial,
  })
  .meta({ id: 'Cascade' })
export type Cascade = AnswerOf<typeof Cascade>

const differenceMs = z.number().describe('total time in b less that in a')

export const Comparison = z
  .strictObject({
    a: CascadeOutline,
    b: CascadeOutline,
    durationMs: z.strictObject({
      a: Milliseconds,
      b: Milliseconds,
      difference: z.number().describe('b less a'),
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
      .describe('the largest slow-down first'),
    kinds: z
      .array(
        z.strictObject({
          kind: z.string(),
          a: KindTimeAnswer.nullable(),
          b: KindTimeAnswer.nullable(),
          differenceMs,
        }),
      )
      .describe('the largest slow-down first'),
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
    root: z.boolean().describe('no edge points to it'),
    explained: z.boolean(),
    distance: z.int().describe('steps away, negative for ancestors'),
    supersededBy,
  })
  .meta({ id: 'GraphNode' })
export type GraphNode = AnswerOf<typeof GraphNode>

export const Graph = z
  .strictObject({
    cpid: CpidText,
    nodes: z.array(GraphNode).describe('itself first, then nearest first'),
    truncated: z.boolean().describe('there are more nodes than `limit`'),
    edges: z.array(z.strictObject({ source: CpidText, target: CpidText })),
    partial,
  })
  .meta({ id: 'Graph' })
export type Graph = AnswerOf<typeof Graph>

export const Found = z
  .strictObject({
    cpid: z.strictObject({ cpid: CpidText, state: z.enum(['known', 'pruned', 'unknown']) }).nullable(),
    cpids: z.array(CpidText).describe('those that begin with the text, where there are several'),
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
    actors: z.array(z.string()).describe('users who wrote, and services of which no user is known'),
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
  .meta({ id: 'ResourceSpans', description: 'OTLP/JSON' })

const ResourceLogs = z
  .strictObject({
    resource: Any.optional(),
    scopeLogs: z.array(Any),
    schemaUrl: z.string().optional(),
  })
  .meta({ id: 'ResourceLogs', description: 'OTLP/JSON' })

export const SpanList = z
  .strictObject({ resourceSpans: z.array(ResourceSpans), next: Next.optional(), partial })
  .meta({ id: 'SpanList' })

export const LogList = z
  .strictObject({ resourceLogs: z.array(ResourceLogs), next: Next.optional(), partial })
  .meta({ id: 'LogList' })

export const DashboardSettings = z
  .strictObject({
    traceUrl: z.string().nullable().describe('with {trace_id} and {span_id} to be filled in'),
    version: z.string(),
    archive: z.boolean().describe('an archive is asked too: lists show what other Causeways wrote there'),
  })
  .meta({ id: 'DashboardSettings' })
export type DashboardSettings = AnswerOf<typeof DashboardSettings>
