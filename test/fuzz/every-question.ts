import { type Cpid, cpidOfBytes } from '../../src/model/merge-graph.ts'
import { answer } from '../../src/query/answer.ts'
import type { Question, TraceShape } from '../../src/query/question.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { sqliteQueries } from '../../src/store/sqlite/queries.ts'

const SHAPES: readonly TraceShape[] = [
  'jaeger',
  'jaegerV3',
  'tempoProtobuf',
  'tempoProtobufV2',
  'tempoJson',
  'tempoJsonV2',
]
const PART = { limit: 100 }
const MOST = 3

/** Asks the database whatever can be asked; throws when an answer is not JSON, or there is none. */
export function askEverything(db: Sqlite): void {
  const queries = sqliteQueries(db)
  const cpids = db.prepare<[], Buffer>(`SELECT uuid FROM cpids LIMIT ${MOST}`).pluck().all().map(cpidOfBytes)
  const traceIds = db.prepare<[], Buffer>(`SELECT trace_id FROM traces LIMIT ${MOST}`).pluck().all()
  const questions: Question[] = [
    ...(['mergelogs', 'spans', 'logs'] as const).map((kind) => ({ kind, part: PART })),
    { kind: 'cascades', filter: {}, part: PART },
    { kind: 'find', text: 'web', limit: 20 },
    { kind: 'facets' },
    { kind: 'services', version: 1 },
    ...cpids.flatMap(aboutCpid),
    ...traceIds.flatMap((id) =>
      SHAPES.map((shape) => ({ kind: 'sentTrace', traceId: id.toString('hex'), shape }) as const),
    ),
  ]
  for (const question of questions) {
    const answered = answer(queries, question)
    if (answered.kind !== 'found') continue
    const text = [...answered.pieces].join('')
    if (!('shape' in question) || !question.shape.startsWith('tempoProtobuf')) JSON.parse(text)
  }
}

function aboutCpid(cpid: Cpid): Question[] {
  return [
    ...(['cpid', 'related', 'ancestors', 'roots'] as const).map((kind) => ({ kind, cpid })),
    ...(['mergelogs', 'spans', 'logs'] as const).map((kind) => ({ kind, cpid, part: {} })),
    { kind: 'cascade', root: cpid },
    { kind: 'cascadesOf', cpid, part: PART },
    { kind: 'graph', cpid, limit: 100 },
  ]
}
