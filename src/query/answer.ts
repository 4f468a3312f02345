import type { Absent, CausewayQueries, Pages, Position } from '../model/query-port.ts'
import { cascadeJson, cascadeOutline } from './cascade-json.ts'
import { cpidJson, mergelogJson } from './cpid-json.ts'
import { positionOf } from './cursor.ts'
import { cpidListJson, listJson } from './list-json.ts'
import { recordsJson } from './records-json.ts'
import type { Part, Question, Refusal } from './question.ts'

/** JSON text in pieces, to be read lazily: a piece, which may be empty, takes a bounded bite at the database. */
export type JsonPieces = Iterable<string>

export type Answer = { kind: 'found'; pieces: JsonPieces } | { kind: Refusal }

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
      return unlessAbsent(queries.cascade(question.root), (facts) => cascadeJson(queries, facts))
  }
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
