import { z } from 'zod'
import { WRITE_CAUSES } from '../model/seen-write.ts'

type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Frozen<T[Name]> }
    : T

/** The TypeScript type of the answers that a schema describes. */
export type AnswerOf<Shape extends z.ZodType> = Frozen<z.infer<Shape>>

/** A CPID as it is written in answers. */
export const CpidText = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ id: 'Cpid', description: 'A CPID in lower case with dashes.' })

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
  .meta({ id: 'Time', description: 'A time as RFC 3339 in UTC, with nanoseconds.' })

/** The cursor of the next page. */
export const Next = z.string().nullable().meta({
  id: 'Next',
  description: 'The value of `after` that asks for the next page. It is null on the last page.',
})

export const Milliseconds = z.number().describe('A duration in milliseconds.')

/** A field of answers that also come from an archive. */
export const partial = z
  .string()
  .optional()
  .describe(
    'What this answer lacks, and why, such as that the archive did not answer. Absent if the answer is complete.',
  )
export const causeway = z
  .string()
  .nullable()
  .optional()
  .describe(
    'The name in the archive of the Causeway that this comes from. Absent if no archive is configured.',
  )

/** A field of writes that were observed from outside the cluster. */
export const user = z
  .string()
  .optional()
  .describe('The user who made the write (`user.name`), for inferred writes whose user is known.')
export const cause = z
  .enum(WRITE_CAUSES)
  .optional()
  .describe(
    'Why an inferred write was made. `operator`: somebody made it. `self`: a controller began it by itself. `exact`: it follows from versions that it names or copies. `inferred`: it follows from the newest versions that its writer could have read.',
  )
export const gap = z
  .literal(true)
  .optional()
  .describe('True if versions of the object between this one and the last known one were not observed.')

export const supersededBy = CpidText.optional().describe(
  'The root CPID of the change that overwrote this one entirely before any controller acted on it.',
)
