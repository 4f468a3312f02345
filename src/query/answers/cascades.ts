import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { Mergelog } from './cpids.ts'
import { CpidText, Milliseconds, Next, TimeText, TraceIdText } from './scalars.ts'
import { Trace } from './spans.ts'
import { ClusterTimeAnswer, CriticalPath, KindTimeAnswer, ServiceTimeAnswer } from './times.ts'

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
    services: z.int(),
    merges: z.int(),
    missing: z.int().describe('CPIDs whose mergelog has not arrived'),
    truncated: z.boolean().describe('something in it descends from more open roots than max_fanout'),
    clockSkew: z
      .boolean()
      .describe('a sender gave times that cannot be; `start` and `lastActivity` leave them out'),
    object: z.string().nullable().describe("the object of the root's mergelog"),
    service: z.string().nullable().describe("who sent the root's mergelog"),
    actor: z.string().nullable().describe('who began it: the user, where one is known, else the service'),
    gaps: z.int().describe('writes seen from outside before which versions of their objects were not seen'),
    cluster: z.string().nullable().describe('the cluster of whoever sent it'),
    reason: z.string().nullable().describe("the reason of the root's mergelog"),
  })
  .meta({ id: 'CascadeOutline' })
export type CascadeOutline = AnswerOf<typeof CascadeOutline>

export const CascadeList = z
  .strictObject({ cascades: z.array(CascadeOutline), next: Next })
  .meta({ id: 'CascadeList' })
export type CascadeList = AnswerOf<typeof CascadeList>

export const Cascade = z
  .strictObject({
    ...CascadeOutline.shape,
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
  })
  .meta({ id: 'Comparison' })
export type Comparison = AnswerOf<typeof Comparison>
