import { z } from 'zod'
import { type AnswerOf, CpidText } from './answer-schemas.ts'

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
