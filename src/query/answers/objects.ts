import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { CascadeOutline } from './cascades.ts'
import { CpidText, Next, TimeText } from './scalars.ts'

export const ObjectEvent = z
  .strictObject({
    object: z.string().describe('with uid and resourceVersion where they were given'),
    cpid: CpidText.nullable(),
    action: z.enum(['observed', 'wrote', 'mergelog']),
    timestamp: TimeText,
    service: z.string().nullable(),
    cluster: z.string().nullable(),
    cascades: z.array(CpidText).describe('roots of the cascades in which the CPID takes part, at most 8'),
  })
  .meta({ id: 'ObjectEvent' })
export type ObjectEvent = AnswerOf<typeof ObjectEvent>

export const ObjectHistory = z
  .strictObject({ objects: z.array(ObjectEvent), next: Next })
  .meta({ id: 'ObjectHistory' })
export type ObjectHistory = AnswerOf<typeof ObjectHistory>

export const Found = z
  .strictObject({
    cpid: z.strictObject({ cpid: CpidText, state: z.enum(['known', 'pruned', 'unknown']) }).nullable(),
    cascades: z.array(CascadeOutline),
    objects: z.array(z.string()),
  })
  .meta({ id: 'Found' })
export type Found = AnswerOf<typeof Found>

export const Facets = z
  .strictObject({ services: z.array(z.string()), clusters: z.array(z.string()), kinds: z.array(z.string()) })
  .meta({ id: 'Facets' })
export type Facets = AnswerOf<typeof Facets>
