import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { CpidText, Next, TimeText } from './scalars.ts'

export const CpidFactsAnswer = z
  .strictObject({
    cpid: CpidText,
    timestamp: TimeText.nullable(),
    sources: z.array(CpidText).nullable(),
    explained: z.boolean().describe('its mergelog and those of all its ancestors have arrived'),
    service: z.string().nullable(),
    object: z.string().nullable(),
  })
  .meta({ id: 'CpidFacts' })
export type CpidFactsAnswer = AnswerOf<typeof CpidFactsAnswer>

export const RelatedCpids = z
  .strictObject({ cpid: CpidText, related: z.array(CpidText) })
  .meta({ id: 'RelatedCpids' })

export const Ancestors = z
  .strictObject({ cpid: CpidText, ancestors: z.array(CpidText) })
  .meta({ id: 'Ancestors' })

export const Roots = z.strictObject({ cpid: CpidText, roots: z.array(CpidText) }).meta({ id: 'Roots' })

export const Mergelog = z
  .strictObject({
    cpid: CpidText,
    sources: z.array(CpidText),
    timestamp: TimeText,
    service: z.string().nullable(),
    object: z.string().nullable(),
    reason: z.string().nullable(),
    cluster: z.string().nullable(),
  })
  .meta({ id: 'Mergelog' })
export type Mergelog = AnswerOf<typeof Mergelog>

export const MergelogList = z
  .strictObject({ mergelogs: z.array(Mergelog), next: Next })
  .meta({ id: 'MergelogList' })
export type MergelogList = AnswerOf<typeof MergelogList>
