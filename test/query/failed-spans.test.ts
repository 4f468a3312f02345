import { expect, test } from '@jest/globals'
import { Kysely, SqliteDialect } from 'kysely'
import { up as countFailedSpans } from '../../migrations/032-failed-spans.ts'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask, id } from './asking.ts'

interface Counted {
  root: string
  failed: number
  spans: number
  traceCount: number
}

const countsOf = (writer: TestWriter): Record<string, number> =>
  Object.fromEntries(
    ask<{ cascades: Counted[] }>(writer, { kind: 'cascades', filter: {}, part: {} }).cascades.map(
      ({ root, failed }) => [root, failed],
    ),
  )

const span = (number: number, of: string, failed: boolean): SpanSketch => ({
  trace: number,
  id: number,
  cpid: of,
  start: 10 + number,
  ...(failed && { status: 2, statusMessage: 'no such image' }),
})

/** Two changes that merge, with failures in each and in what both drive; the traces of the first are full. */
async function withFailures(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { maxTraceSpans: 6 } })
  writer.mergelogs('kubectl', [
    { new: cpid(1), object: 'v1/pods/default/a' },
    { new: cpid(2), object: 'v1/pods/default/b', time: 1 },
    { new: cpid(3), sources: [cpid(1), cpid(2)], time: 2 },
  ])
  const own = Array.from({ length: 12 }, (_, at) => span(at + 1, cpid(1), at % 3 === 0))
  writer.spans('a', own)
  writer.spans('b', [span(21, cpid(2), false), span(22, cpid(2), true)])
  writer.spans('both', [span(31, cpid(3), true), span(32, cpid(3), false)])
  writer.pass(20_000)
  writer.link()
  return writer
}

test('the list and a cascade by itself say how many of its spans failed', async () => {
  using writer = await withFailures()
  expect(countsOf(writer)).toEqual({ [cpid(1)]: 5, [cpid(2)]: 2 })
  const one = ask<Counted>(writer, { kind: 'cascade', root: id(1) })
  expect(one).toMatchObject({ failed: 5, spans: 14 })
  expect(one.traceCount).toBeGreaterThan(1)
})

test('what was stored before they were counted is counted once', async () => {
  using writer = await withFailures()
  const counted = countsOf(writer)
  writer.db.exec('ALTER TABLE traces DROP COLUMN failed_spans')
  await countFailedSpans(new Kysely({ dialect: new SqliteDialect({ database: writer.db }) }))
  expect(countsOf(writer)).toEqual(counted)
})
