import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { Milliseconds, SpanIdText, TimeText, TraceIdText } from './scalars.ts'

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
