import { z } from 'zod'
import type { AnswerOf } from './answer-of.ts'
import { CascadeOutline } from './cascades.ts'
import { CpidText, Next, SpanIdText, TimeText } from './scalars.ts'
import { cause, gap, user } from './spans.ts'

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

export const ObjectVersion = z
  .strictObject({
    object: z.string().describe('with uid and resourceVersion where they were given'),
    timestamp: TimeText.describe('when the span ended that wrote it'),
    name: z.string().describe('of that span'),
    spanId: SpanIdText,
    service: z.string(),
    user,
    cause,
    gap,
    cluster: z.string().nullable(),
    cpid: CpidText.nullable(),
    cascades: z.array(CpidText).describe('roots of the cascades in which the CPID takes part, at most 8'),
    observed: z.array(z.string()).describe('the versions that whoever wrote it had read, at most 128'),
  })
  .meta({ id: 'ObjectVersion' })
export type ObjectVersion = AnswerOf<typeof ObjectVersion>

export const ObjectVersions = z
  .strictObject({ versions: z.array(ObjectVersion), next: Next })
  .meta({ id: 'ObjectVersions' })
export type ObjectVersions = AnswerOf<typeof ObjectVersions>

export const Found = z
  .strictObject({
    cpid: z.strictObject({ cpid: CpidText, state: z.enum(['known', 'pruned', 'unknown']) }).nullable(),
    cpids: z.array(CpidText).describe('those that begin with the text, where there are several'),
    cascades: z.array(CascadeOutline),
    objects: z.array(z.string()),
  })
  .meta({ id: 'Found' })
export type Found = AnswerOf<typeof Found>

export const Facets = z
  .strictObject({
    services: z.array(z.string()),
    clusters: z.array(z.string()),
    actors: z.array(z.string()).describe('users who wrote, and services of which no user is known'),
    namespaces: z.array(z.string()),
    kinds: z.array(z.string()),
  })
  .meta({ id: 'Facets' })
export type Facets = AnswerOf<typeof Facets>
