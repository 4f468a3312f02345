import { z } from 'zod'
import {
  type AnswerOf,
  cause,
  causeway,
  CpidText,
  gap,
  Next,
  partial,
  SpanIdText,
  supersededBy,
  TimeText,
  user,
} from './answer-fields.ts'
import { CascadeOutline } from './answer-schemas.ts'

const drivenBy = z
  .array(CpidText)
  .describe(
    'The roots that drive the CPID, newest first. From other roots it only descends. The list is empty until something of the CPID is linked.',
  )

export const ObjectEvent = z
  .strictObject({
    object: z
      .string()
      .describe('The object reference, with the uid and the resourceVersion if the sender gave them.'),
    cpid: CpidText.nullable(),
    action: z.enum(['observed', 'wrote', 'mergelog']),
    timestamp: TimeText,
    service: z.string().nullable(),
    cluster: z.string().nullable(),
    cascades: z
      .array(CpidText)
      .describe('The roots of the cascades that the CPID is in, at most 8. Those that drive it come first.'),
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
    'The fields that the write changed, as `spec.replicas: 2 → 5`. Values that may be secrets are not shown, only that they changed.',
  )

export const ObjectVersion = z
  .strictObject({
    object: z
      .string()
      .describe('The object reference, with the uid and the resourceVersion if the sender gave them.'),
    timestamp: TimeText.describe('The end of the span that wrote it.'),
    name: z.string().describe('The name of the span that wrote it.'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    gap,
    reason: z.string().nullable().describe('The reason in the mergelog of its CPID.'),
    begins: z
      .literal(true)
      .optional()
      .describe('True if the mergelog of its CPID says that a change began with this write.'),
    cluster: z.string().nullable(),
    cpid: CpidText.nullable(),
    cascades: z
      .array(CpidText)
      .describe('The roots of the cascades that the CPID is in, at most 8. Those that drive it come first.'),
    drivenBy,
    observed: z
      .array(z.string())
      .describe(
        'The versions that the writer had read, as the writing span or a span above it reports, at most 128.',
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
    version: z
      .string()
      .nullable()
      .describe('The resourceVersion that was written. It is null if it is unknown.'),
    offsetMs: z
      .number()
      .describe(
        'The time from the start of the cascade to the end of the span that wrote it, in milliseconds.',
      ),
    name: z.string().describe('The name of the span that wrote it.'),
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
    object: z.string().describe('The object reference, without uid and resourceVersion.'),
    owner: z
      .string()
      .nullable()
      .describe('The object that owns it, or for which it was made. That object is in this list too.'),
    ownership: z
      .enum(['told', 'name'])
      .nullable()
      .describe(
        'How the owner is known. `told`: a span names it. `name`: Causeway concludes it from the object’s name and from what was read to write it.',
      ),
    deeds: z
      .array(z.enum(OBJECT_DEEDS))
      .describe(
        'What the change did to the object: it made it, changed it, changed its status alone, deleted it (`went`), or failed to write it. The list is empty for an object that only owns others.',
      ),
    failed: z
      .int()
      .describe('The number of failed spans that wrote the object, or that read it and wrote nothing.'),
    supersededBy: CpidText.optional().describe(
      'The root CPID of the change that overwrote what this one had set in the object.',
    ),
    writeCount: z.int(),
    writes: z
      .array(ObjectWrite)
      .describe('The first 8 and the last 8 writes, in the order in which they arrived.'),
  })
  .meta({ id: 'TouchedObject' })
export type TouchedObject = AnswerOf<typeof TouchedObject>

export const TouchedObjects = z
  .strictObject({
    root: CpidText,
    objects: z
      .array(TouchedObject)
      .describe(
        'The objects, each owner before what it owns. Owners do not count towards `limit`. Objects with failures are always included.',
      ),
    truncated: z.boolean().describe('Whether the change touched more than `limit` objects.'),
    leftOut: z
      .int()
      .nonnegative()
      .describe('The number of objects that are left out, of which at most 100,000 are counted.'),
    partial,
  })
  .meta({ id: 'TouchedObjects' })
export type TouchedObjects = AnswerOf<typeof TouchedObjects>

export const WhyVersion = z
  .strictObject({
    object: z
      .string()
      .describe('The object reference, with the uid and the resourceVersion if the sender gave them.'),
    timestamp: TimeText,
    name: z.string().describe('The name of the span that wrote it.'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    gap,
    cluster: z.string().nullable(),
    cpid: CpidText.nullable(),
    changed,
    from: z.array(z.int()).describe('The positions in `versions` of the versions that it follows from.'),
    begunBy: z
      .array(CpidText)
      .describe('The roots in `changes` that it follows from, besides those versions.'),
  })
  .meta({ id: 'WhyVersion' })
export type WhyVersion = AnswerOf<typeof WhyVersion>

export const Why = z
  .strictObject({
    versions: z
      .array(WhyVersion)
      .describe(
        'The version that is explained, then those that it follows from. The list is empty if no write of the object is known.',
      ),
    changes: z
      .array(CascadeOutline)
      .describe('The changes that all this follows from, begun by people or by controllers themselves.'),
    newerStatuses: z
      .int()
      .optional()
      .describe(
        'The number of newer versions that are known and changed the status alone. Absent if there are none.',
      ),
    truncated: z.boolean().describe('Whether more writes led to it than are shown.'),
    partial,
  })
  .meta({ id: 'Why' })
export type Why = AnswerOf<typeof Why>

const PodSeries = z
  .strictObject({
    metric: z.string().describe('The name of the metric.'),
    kind: z.enum(['cpu', 'memory', 'restarts', 'throttling']),
    unit: z.string().describe('The unit as a UCUM code.'),
    cumulative: z
      .boolean()
      .describe(
        'Whether the values are cumulative, so that the difference of two values is what happened between them.',
      ),
    container: z.string().nullable().describe('The name of the container. It is null for the Pod itself.'),
    points: z
      .array(
        z.strictObject({
          seconds: z.int().describe('The time in seconds since 1970 (Unix time).'),
          value: z.number(),
        }),
      )
      .describe(
        'The measurements in the order of time: at most one in 10 seconds and at most 240. If there are more, every second one is left out.',
      ),
  })
  .meta({ id: 'PodSeries' })

const PodStats = z
  .strictObject({
    object: z.string().describe('The object reference, without uid and resourceVersion.'),
    uid: z.string(),
    cluster: z.string(),
    series: z
      .array(PodSeries)
      .describe(
        'The series of measurements, at most 64. If the Pod itself has CPU and memory, its containers have none. The list is empty if nothing was measured.',
      ),
  })
  .meta({ id: 'PodStats' })
export type PodStatsAnswer = AnswerOf<typeof PodStats>

export const CascadePodStats = z
  .strictObject({
    root: CpidText,
    pods: z.array(PodStats).describe('The Pods, in the order in which the cascade first wrote them.'),
    truncated: z.boolean().describe('Whether the cascade wrote more than `limit` Pods.'),
    leftOut: z.int().nonnegative().describe('The number of Pods that are left out.'),
  })
  .meta({ id: 'CascadePodStats' })
export type CascadePodStatsAnswer = AnswerOf<typeof CascadePodStats>
