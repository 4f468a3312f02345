import type { Cpid } from '../model/cpid.ts'
import type { Absent, CascadeFacts, CausewayQueries, Pages, Position } from '../model/ports/query-port.ts'
import { cascadeJson, cascadeOutline, cascadeVersion } from './cascade/cascade-json.ts'
import { compareJson } from './cascade/compare-json.ts'
import { cpidJson, mergelogJson } from './cpid-json.ts'
import { positionOf } from './cursor.ts'
import { findJson } from './find-json.ts'
import { graphJson } from './graph-json.ts'
import { objectJson, objectVersionJson } from './object-json.ts'
import { findSentSpan } from './cascade/sent-spans-json.ts'
import { cpidListJson, listJson } from './list-json.ts'
import { recordsJson } from './records-json.ts'
import { answerTraceQuestion } from './traces/answer-trace-question.ts'
import type { Part, Question, NoAnswer } from './question.ts'

/** JSON text in pieces, to be read lazily: a piece, which may be empty, takes a bounded bite at the database. */
export type JsonPieces = Iterable<string>

/** `version`, where it is known beforehand, changes with whatever the pieces say. */
export type Answer = { kind: 'found'; pieces: JsonPieces; version?: string } | { kind: NoAnswer }

/** Answers a question in JSON, the same over HTTP and on the command line. */
export function answer(queries: CausewayQueries, question: Question): Answer {
  switch (question.kind) {
    case 'cpid':
      return unlessAbsent(queries.cpid(question.cpid), (facts) => [JSON.stringify(cpidJson(facts))])
    case 'related':
    case 'ancestors':
    case 'roots': {
      const { kind, cpid } = question
      return unlessAbsent(queries[kind](cpid), (pages) => cpidListJson(cpid, kind, pages))
    }
    case 'mergelogs': {
      const { cpid, part } = question
      return inPart(
        part,
        cpid === undefined ? 2 : 3,
        (after) => (cpid === undefined ? queries.mergelogs(after) : queries.mergelogsOf(cpid, after)),
        (pages) => listJson('mergelogs', pages, part, mergelogJson),
      )
    }
    case 'spans': {
      const { cpid, part } = question
      return inPart(
        part,
        cpid === undefined ? 1 : 4,
        (after) => (cpid === undefined ? queries.spans(after) : queries.spansOf(cpid, after)),
        (pages) => recordsJson('spans', pages, part, queries),
      )
    }
    case 'logs': {
      const { cpid, part } = question
      return inPart(
        part,
        cpid === undefined ? 1 : 2,
        (after) => (cpid === undefined ? queries.logs(after) : queries.logsOf(cpid, after)),
        (pages) => recordsJson('logs', pages, part, queries),
      )
    }
    case 'cascades': {
      const { filter, part } = question
      return inPart(
        part,
        1,
        (after) => queries.cascades(filter, after),
        (pages) => listJson('cascades', pages, part, cascadeOutline),
      )
    }
    case 'cascade':
      return withFacts(queries, [question.root], ([facts]) => ({
        kind: 'found',
        pieces: cascadeJson(queries, facts),
        version: cascadeVersion(queries, facts),
      }))
    case 'compare':
      return withFacts(queries, [question.a, question.b], ([a, b]) => found(compareJson(queries, a, b)))
    case 'span':
      return withFacts(queries, [question.root], () => {
        const records = findSentSpan(queries, question)
        return records === undefined
          ? { kind: 'unknownSpan' }
          : found(recordsJson('spans', [records], {}, queries))
      })
    case 'cascadesOf': {
      const { cpid, part } = question
      const roots = queries.cascadesOf(cpid)
      if (typeof roots === 'string') return { kind: roots }
      return inPart(
        part,
        1,
        (after) => queries.cascadesAmong(roots, after),
        (pages) => listJson('cascades', pages, part, cascadeOutline),
      )
    }
    case 'graph': {
      const { cpid, limit } = question
      return unlessAbsent(queries.graph(cpid, limit), (around) => graphJson(cpid, around))
    }
    case 'objects': {
      const { ref, part } = question
      return inPart(
        part,
        2,
        (after) => queries.objects(ref, after, part.limit === undefined ? undefined : part.limit + 1),
        (pages) => listJson('objects', pages, part, objectJson),
      )
    }
    case 'objectVersions': {
      const { ref, part } = question
      return inPart(
        part,
        3,
        (after) => queries.objectVersions(ref, after, part.limit === undefined ? undefined : part.limit + 1),
        (pages) => listJson('versions', pages, part, objectVersionJson),
      )
    }
    case 'find':
      return found(findJson(queries, question.text, question.limit, question.filter))
    case 'facets':
      return found([JSON.stringify(queries.facets())])
    case 'sentTrace':
    case 'searchTraces':
    case 'services':
    case 'operations':
    case 'tags':
    case 'tagValues': {
      const pieces = answerTraceQuestion(queries, question)
      return pieces === undefined ? { kind: 'unknownTrace' } : found(pieces)
    }
  }
}

function found(pieces: JsonPieces): Answer {
  return { kind: 'found', pieces }
}

/** With the facts of cascades, unless one of them is none. */
function withFacts<const Roots extends readonly Cpid[]>(
  queries: CausewayQueries,
  roots: Roots,
  answerWith: (facts: { [At in keyof Roots]: CascadeFacts }) => Answer,
): Answer {
  const facts: CascadeFacts[] = []
  for (const root of roots) {
    const read = queries.cascade(root)
    if (typeof read === 'string') return { kind: read }
    facts.push(read)
  }
  return answerWith(facts as { [At in keyof Roots]: CascadeFacts })
}

function unlessAbsent<T extends object>(found: T | Absent, toPieces: (found: T) => JsonPieces): Answer {
  return typeof found === 'string' ? { kind: found } : { kind: 'found', pieces: toPieces(found) }
}

/** Positions in the list have `parts` parts (see CausewayQueries). */
function inPart<T>(
  { after }: Part,
  parts: number,
  read: (after: Position | undefined) => Pages<T> | Absent,
  toPieces: (pages: Pages<T>) => JsonPieces,
): Answer {
  const position = after === undefined ? undefined : positionOf(after, parts)
  if (after !== undefined && position === undefined) return { kind: 'badCursor' }
  return unlessAbsent(read(position), toPieces)
}
