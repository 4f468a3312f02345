import { z } from 'zod'
import { WRITE_CAUSES } from '../../model/seen-write.ts'
import type { AnswerOf } from './answer-of.ts'
import { CpidText, Milliseconds, SpanIdText, TimeText, TraceIdText } from './scalars.ts'

/** Of a write that was seen from outside the cluster. */
export const user = z
  .string()
  .optional()
  .describe('`user.name` of a write seen from outside, where it is known')
export const cause = z
  .enum(WRITE_CAUSES)
  .optional()
  .describe(
    'why a write seen from outside was made: an operator did it; or it follows from versions that it names or copies (exact), or from the newest that there were (inferred)',
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
