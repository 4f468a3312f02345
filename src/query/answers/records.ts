import { z } from 'zod'
import { Next } from './scalars.ts'

/** OTLP/JSON is described by OTLP. */
const Any = z.looseObject({})

export const ResourceSpans = z
  .strictObject({
    resource: Any.optional(),
    scopeSpans: z.array(Any),
    schemaUrl: z.string().optional(),
  })
  .meta({ id: 'ResourceSpans', description: 'OTLP/JSON' })

export const ResourceLogs = z
  .strictObject({
    resource: Any.optional(),
    scopeLogs: z.array(Any),
    schemaUrl: z.string().optional(),
  })
  .meta({ id: 'ResourceLogs', description: 'OTLP/JSON' })

export const SpanList = z
  .strictObject({ resourceSpans: z.array(ResourceSpans), next: Next.optional() })
  .meta({ id: 'SpanList' })

export const LogList = z
  .strictObject({ resourceLogs: z.array(ResourceLogs), next: Next.optional() })
  .meta({ id: 'LogList' })
