import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { CpidText, TimeText } from './scalars.ts'

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
  })
  .meta({ id: 'GraphNode' })
export type GraphNode = AnswerOf<typeof GraphNode>

export const Graph = z
  .strictObject({
    cpid: CpidText,
    nodes: z.array(GraphNode).describe('itself first, then nearest first'),
    truncated: z.boolean().describe('there are more nodes than `limit`'),
    edges: z.array(z.strictObject({ source: CpidText, target: CpidText })),
  })
  .meta({ id: 'Graph' })
export type Graph = AnswerOf<typeof Graph>
