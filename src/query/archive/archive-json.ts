import type { CascadeFilter } from '../../model/queries.ts'
import { cascadeOutline } from '../cascade-json.ts'
import { cpidJson, graphJson, mergelogJson, objectJson, objectVersionJson } from '../object-json.ts'
import type { ArchivedQuestion, NoAnswer, PageRequest } from '../question.ts'
import { ArchiveSilent } from './archive-client.ts'
import type { ArchiveQuestions } from './archive-questions.ts'
import { BadCursor, partialOf } from './asking-parts.ts'
import { noted } from './held-questions.ts'

const ONLY_HERE =
  'this answer has only what this Causeway stores; the archive has more, and answers in SQL (docs/archive.md)'

/** `here`: the database of this Causeway has to answer; `partial` says what its answer lacks. */
type ArchiveAnswer =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: NoAnswer }
  | { readonly kind: 'here'; readonly partial?: string }

/** Answers a question from the archive and this database together, as JSON of the API. */
export async function archiveAnswer(
  questions: ArchiveQuestions,
  question: ArchivedQuestion,
): Promise<ArchiveAnswer> {
  try {
    return await answerOf(questions, question)
  } catch (error) {
    if (error instanceof BadCursor) return { kind: 'badCursor' }
    if (error instanceof ArchiveSilent) return { kind: 'archiveSilent' }
    throw error
  }
}

async function answerOf(questions: ArchiveQuestions, question: ArchivedQuestion): Promise<ArchiveAnswer> {
  switch (question.kind) {
    case 'cascades':
      return found(await archivedCascadesJson(questions, question.filter, question.part))
    case 'cpid': {
      const answered = await questions.cpids.facts(question.cpid)
      if (typeof answered === 'string') return { kind: answered }
      return found({ ...cpidJson(answered.facts), ...partialOf(answered.partial) })
    }
    case 'related':
    case 'ancestors':
    case 'roots': {
      const { kind, cpid } = question
      const answered = await questions.cpids[kind](cpid)
      if (typeof answered === 'string') return { kind: answered }
      return found({ cpid, [kind]: answered.cpids, ...partialOf(answered.partial) })
    }
    case 'graph': {
      const { cpid, limit } = question
      const answered = await questions.cpids.graph(cpid, limit)
      if (typeof answered === 'string') return { kind: answered }
      const { edges, partial, ...rest } = answered
      return { kind: 'found', text: noted(graphJson(cpid, { ...rest, edges: [edges] }), partial) }
    }
    case 'cascadesOf': {
      const answered = await questions.cascadesOf(question.cpid, question.part)
      if (typeof answered === 'string') return { kind: answered }
      const { cascades, next = null, driving, ...rest } = answered
      const listed = cascades.map((facts) => ({
        ...cascadeOutline(facts),
        ...{ drives: driving.has(facts.root), causeway: facts.causeway ?? null },
      }))
      return found({ cascades: listed, next, ...rest })
    }
    case 'mergelogs': {
      if (question.cpid === undefined) return { kind: 'here', partial: ONLY_HERE }
      const answered = await questions.cpids.mergelogs(question.cpid, question.part)
      if (typeof answered === 'string') return { kind: answered }
      const { mergelogs, next = null, ...rest } = answered
      return found({ mergelogs: mergelogs.map(mergelogJson), next, ...rest })
    }
    case 'spans':
    case 'logs':
      return await questions.held.received(question.cpid, ONLY_HERE)
    case 'objects': {
      const { objects, next = null, ...rest } = await questions.objects(question.ref, question.part)
      const listed = objects.map((facts) => ({ ...objectJson(facts), causeway: facts.causeway ?? null }))
      return found({ objects: listed, next, ...rest })
    }
    case 'objectVersions': {
      const {
        versions,
        next = null,
        ...rest
      } = await questions.versions.versions(question.ref, question.part)
      const listed = versions.map((facts) => ({
        ...objectVersionJson(facts),
        causeway: facts.causeway ?? null,
      }))
      return found({ versions: listed, next, ...rest })
    }
    case 'why': {
      const { text, partial } = await questions.versions.why(question.ref)
      return { kind: 'found', text: noted([text], partial) }
    }
    case 'find':
      return found(await questions.find(question))
    case 'facets':
      return found(await questions.facets())
    case 'cascade':
    case 'touchedObjects':
    case 'compare':
    case 'span':
    case 'matchingSpans':
      return await questions.held.answer(question)
  }
}

/** The list of cascades, each with the Causeway that archived it. */
export async function archivedCascadesJson(
  questions: ArchiveQuestions,
  filter: CascadeFilter,
  part: PageRequest,
): Promise<object> {
  const { cascades, next = null, ...rest } = await questions.cascades(filter, part)
  const listed = cascades.map((facts) => ({ ...cascadeOutline(facts), causeway: facts.causeway ?? null }))
  return { cascades: listed, next, ...rest }
}

function found(answer: object): ArchiveAnswer {
  return { kind: 'found', text: JSON.stringify(answer) }
}
