import { z } from 'zod'
import {
  CpidText,
  TimeText,
  SpanIdText,
  Next,
  type AnswerOf,
  user,
  cause,
  gap,
  supersededBy,
  CascadeOutline,
  causeway,
  partial,
} from './answer-schemas.ts'

const drivenBy = z
  .array(CpidText)
  .describe(
    'the roots that drive it, newest first; others were passed on with it. Empty until something of the CPID is linked',
  )

export const ObjectEvent = z
  .strictObject({
    object: z.string().describe('with uid and resourceVersion where they were given'),
    cpid: CpidText.nullable(),
    action: z.enum(['observed', 'wrote', 'mergelog']),
    timestamp: TimeText,
    service: z.string().nullable(),
    cluster: z.string().nullable(),
    cascades: z
      .array(CpidText)
      .describe('roots of the cascades in which the CPID takes part, those that drive it first, at most 8'),
    drivenBy,
    causeway,
  })
  .meta({ id: 'ObjectEvent' })
export type ObjectEvent = AnswerOf<typeof ObjectEvent>

export const ObjectHistory = z
  .strictObject({ objects: z.array(ObjectEvent), next: Next, partial })
  .meta({ id: 'ObjectHistory' })
export type ObjectHistory = AnswerOf<typeof ObjectHistory>

const changed = z
  .array(z.string())
  .optional()
  .describe(
    'which fields the write changed, as `spec.replicas: 2 → 5`; of values that may be secrets that they changed',
  )

export const ObjectVersion = z
  .strictObject({
    object: z.string().describe('with uid and resourceVersion where they were given'),
    timestamp: TimeText.describe('when the span ended that wrote it'),
    name: z.string().describe('of that span'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    gap,
    reason: z.string().nullable().describe('from the mergelog of its CPID'),
    begins: z.literal(true).optional().describe('a change began with this write, as its mergelog says'),
    cluster: z.string().nullable(),
    cpid: CpidText.nullable(),
    cascades: z
      .array(CpidText)
      .describe('roots of the cascades in which the CPID takes part, those that drive it first, at most 8'),
    drivenBy,
    observed: z
      .array(z.string())
      .describe(
        'the versions that whoever wrote it had read, by the span that wrote or one above it, at most 128',
      ),
    changed,
    supersededBy,
    causeway,
  })
  .meta({ id: 'ObjectVersion' })
export type ObjectVersion = AnswerOf<typeof ObjectVersion>

export const ObjectVersions = z
  .strictObject({ versions: z.array(ObjectVersion), next: Next, partial })
  .meta({ id: 'ObjectVersions' })
export type ObjectVersions = AnswerOf<typeof ObjectVersions>

export const OBJECT_DEEDS = ['made', 'changed', 'status', 'went', 'failed'] as const

export const ObjectWrite = z
  .strictObject({
    version: z.string().nullable().describe('its resourceVersion, where it is known'),
    offsetMs: z.number().describe('when the span ended that wrote it, from the start of the cascade'),
    name: z.string().describe('of that span'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    failed: z.literal(true).optional(),
    changed,
  })
  .meta({ id: 'ObjectWrite' })
export type ObjectWrite = AnswerOf<typeof ObjectWrite>

export const TouchedObject = z
  .strictObject({
    object: z.string().describe('without uid and resourceVersion'),
    owner: z.string().nullable().describe('what owns it, or what it was made for; also in this list'),
    ownership: z
      .enum(['told', 'name'])
      .nullable()
      .describe('whether a span tells the owner, or its name and what was read for it do'),
    deeds: z
      .array(z.enum(OBJECT_DEEDS))
      .describe(
        'what the change did to it; none for what only owns others. `status`: nothing but its status',
      ),
    failed: z.int().describe('spans that wrote it, or read it and wrote nothing, and failed'),
    supersededBy: CpidText.optional().describe('the change that overwrote what this one had set of it'),
    writeCount: z.int(),
    writes: z.array(ObjectWrite).describe('the first 8 and the last 8, in the order of arrival'),
  })
  .meta({ id: 'TouchedObject' })
export type TouchedObject = AnswerOf<typeof TouchedObject>

export const TouchedObjects = z
  .strictObject({
    root: CpidText,
    objects: z
      .array(TouchedObject)
      .describe(
        'owners before what they own; owners of these come beyond `limit`. Those that failed are among them, whatever came before them',
      ),
    truncated: z.boolean().describe('the change touched more objects than `limit`'),
    leftOut: z.int().nonnegative().describe('how many more, of which 100,000 are counted'),
    partial,
  })
  .meta({ id: 'TouchedObjects' })
export type TouchedObjects = AnswerOf<typeof TouchedObjects>

export const WhyVersion = z
  .strictObject({
    object: z.string().describe('with uid and resourceVersion where they were given'),
    timestamp: TimeText,
    name: z.string().describe('of the span that wrote it'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    gap,
    cluster: z.string().nullable(),
    cpid: CpidText.nullable(),
    changed,
    from: z.array(z.int()).describe('positions in `versions` of what it follows from'),
    begunBy: z.array(CpidText).describe('roots in `changes` that it comes from beside those'),
  })
  .meta({ id: 'WhyVersion' })
export type WhyVersion = AnswerOf<typeof WhyVersion>

export const Why = z
  .strictObject({
    versions: z
      .array(WhyVersion)
      .describe(
        'the version that is explained first, then what it follows from; empty where no write of it is known',
      ),
    changes: z
      .array(CascadeOutline)
      .describe('what people, and controllers by themselves, began: what all this comes from'),
    newerStatuses: z
      .int()
      .optional()
      .describe(
        'how many newer versions are known, each of which wrote the status alone; absent where none is',
      ),
    truncated: z.boolean().describe('there is more that led to it'),
    partial,
  })
  .meta({ id: 'Why' })
export type Why = AnswerOf<typeof Why>

const PodSeries = z
  .strictObject({
    metric: z.string().describe('the name of the metric'),
    kind: z.enum(['cpu', 'memory', 'restarts', 'throttling']),
    unit: z.string().describe('as UCUM has it'),
    cumulative: z.boolean().describe('the values only grow: their differences say what happened'),
    container: z.string().nullable().describe('null for the Pod itself'),
    points: z
      .array(z.strictObject({ seconds: z.int().describe('Unix time'), value: z.number() }))
      .describe('in the order of time; one in 10 seconds, 240 at most: of more, every other is left out'),
  })
  .meta({ id: 'PodSeries' })

const PodStats = z
  .strictObject({
    object: z.string().describe('without uid and resourceVersion'),
    uid: z.string(),
    cluster: z.string(),
    series: z
      .array(PodSeries)
      .describe(
        '64 at most; containers have no CPU and memory of their own where the Pod has; empty where nothing was measured',
      ),
  })
  .meta({ id: 'PodStats' })
export type PodStatsAnswer = AnswerOf<typeof PodStats>

export const CascadePodStats = z
  .strictObject({
    root: CpidText,
    pods: z.array(PodStats).describe('in the order in which the cascade first wrote them'),
    truncated: z.boolean().describe('the cascade wrote more Pods than `limit`'),
    leftOut: z.int().nonnegative().describe('how many more'),
  })
  .meta({ id: 'CascadePodStats' })
export type CascadePodStatsAnswer = AnswerOf<typeof CascadePodStats>
