import { afterAll, beforeAll, test } from '@jest/globals'
import fc from 'fast-check'
import { type HttpBackend, startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { ArchiveClient } from '../../src/query/archive/archive-client.ts'
import { archiveAnswer } from '../../src/query/archive/archive-json.ts'
import { ArchiveQuestions } from '../../src/query/archive/archive-questions.ts'
import type { ArchivedQuestion } from '../../src/query/question.ts'
import { SqliteUnarchived } from '../../src/store/sqlite/unarchived.ts'
import { cpid as cpidText } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const cpid = (number: number): Cpid => cpidText(number) as Cpid
const HERE = cpid(1)
const THERE = cpid(2)
const PART = { limit: 10 }

const QUESTIONS: readonly ArchivedQuestion[] = [
  ...[HERE, THERE].flatMap((of): ArchivedQuestion[] => [
    ...(['cpid', 'related', 'ancestors', 'roots'] as const).map((kind) => ({ kind, cpid: of })),
    ...(['mergelogs', 'spans', 'logs'] as const).map((kind) => ({ kind, cpid: of, part: PART })),
    { kind: 'cascade', root: of },
    { kind: 'cascadesOf', cpid: of, part: PART },
    { kind: 'compare', a: of, b: THERE },
    { kind: 'span', root: of, spanId: '0000000000000001' },
    { kind: 'graph', cpid: of, limit: 100 },
    { kind: 'touchedObjects', root: of, limit: 100 },
    { kind: 'matchingSpans', root: of, contains: 'web', limit: 100 },
    { kind: 'find', text: of, limit: 20 },
  ]),
  { kind: 'cascades', filter: {}, part: PART },
  { kind: 'objects', ref: 'web', part: PART },
  { kind: 'objectVersions', ref: 'v1/pods/default/web', part: PART },
  { kind: 'why', ref: 'v1/pods/default/web' },
  { kind: 'find', text: 'web', limit: 20 },
  { kind: 'find', text: '00', limit: 20 },
  { kind: 'facets' },
]

/** A number in any column, a span's id, and a text. */
const DIGITS = '1234567890123456'
const TRACE = `${DIGITS}${DIGITS}`
const CPIDS = fc.constantFrom(HERE, THERE, cpid(3))
const WORDS = fc.array(fc.constantFrom('web', DIGITS), { maxLength: 5 })
/** What is right in columns of these names; in all others it is digits. */
const RIGHT = new Map<string, fc.Arbitrary<unknown>>([
  ...['cpid', 'source', 'root', 'root_text'].map((name) => [name, CPIDS] as const),
  ...['trace', 'continues'].map((name) => [name, fc.constantFrom(TRACE, TRACE.replace('1', '2'))] as const),
  ...['facts', 'refs', 'services', 'clusters', 'actors', 'namespaces', 'kinds'].map(
    (name) => [name, WORDS] as const,
  ),
  ['sources', fc.array(CPIDS, { maxLength: 3 })],
  ['action', fc.constantFrom('observed', 'wrote', 'mergelog')],
  ['waited', fc.option(fc.double())],
  ['object', fc.constant('v1/pods/default/web')],
])
const DEFAULT = fc.constantFrom(DIGITS, '1', '0')
/** Mostly no archive's. */
const ANYTHING = fc.oneof(
  fc.anything({ maxDepth: 1 }),
  fc.constantFrom<unknown>(
    '-1',
    '18446744073709551615',
    '9223372036854775807',
    'x'.repeat(5_000),
    '1e9',
    '0x',
    1e300,
  ),
)
const valueOf = (name: string): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 99, arbitrary: RIGHT.get(name) ?? DEFAULT }, { weight: 1, arbitrary: ANYTHING })

let backend: HttpBackend
let drawn: (column: string) => unknown = () => null
let drawRows: () => number = () => 1
beforeAll(async () => {
  backend = await startHttpBackend((response, { body }) => {
    const columns = [...new Set([...body.toString().matchAll(/\bAS (\w+)/g)].map(([, name = '']) => name))]
    const rows = Array.from({ length: drawRows() }, () =>
      JSON.stringify(Object.fromEntries(columns.map((name) => [name, drawn(name)]))),
    )
    response.writeHead(200).end(rows.map((row) => `${row}\n`).join(''))
  })
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
})

test('whatever rows an archive answers with, a question has an answer or is told that there is none', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: HERE, sources: [] }])
  writer.spans('controller', [
    { trace: 1, id: 1, cpid: HERE, attributes: { 'cpid.wrote': ['v1/pods/default/web?rv=3'] } },
  ])
  writer.pass(301_000)
  const address = { endpoint: new URL(backend.url).origin, database: 'd', username: 'u', timeoutMs: 2_000 }
  await using archive = new ArchiveClient(
    { ...address, tls: { insecure: true, insecureSkipVerify: false } },
    'test',
  )
  await fc.assert(
    fc.asyncProperty(
      fc.gen(),
      fc.constantFrom(...QUESTIONS),
      fc.boolean(),
      async (draw, question, isAlone) => {
        drawn = (name) => draw(valueOf, name)
        drawRows = () => draw(fc.nat, 3)
        const beside = isAlone
          ? { queries: undefined, unarchived: undefined }
          : { queries: writer.queries(), unarchived: new SqliteUnarchived(writer.db) }
        const questions = new ArchiveQuestions({ archive, ...beside, nowMs: () => 0 })
        const answered = await archiveAnswer(questions, question)
        if (answered.kind === 'found') JSON.parse(answered.text)
      },
    ),
    { numRuns: 40 },
  )
})
