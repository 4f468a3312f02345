import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'

export const DashboardSettings = z
  .strictObject({
    traceUrl: z.string().nullable().describe('with {trace_id} and {span_id} to be filled in'),
    version: z.string(),
  })
  .meta({ id: 'DashboardSettings' })
export type DashboardSettings = AnswerOf<typeof DashboardSettings>
