import { z } from 'zod'

/** A CPID as answers write it. */
export const CpidText = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ id: 'Cpid', description: 'A CPID: lower case, dashed.' })

export const TraceIdText = z
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

/** The end of a list that is read in parts. */
export const Next = z
  .string()
  .nullable()
  .meta({ id: 'Next', description: 'asks for the rest as `after`; null at the end' })

export const Milliseconds = z.number().describe('milliseconds')
