import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { eventually } from '../../lab/harness/eventually.ts'
import type { NamedRecording } from '../../src/importing/recordings.ts'
import { openForReading } from '../../src/store/sqlite/open-database.ts'
import { asRecorded, runImport, toldLines, written } from './imports.ts'
import { allRows, linesOfRollout, type RecordedLine } from './recorded-lines.ts'

const RUNS = process.env.CAUSEWAY_FAULTS === '1' ? 20 : 2
const LINES = linesOfRollout(64, 84).sort((one, other) => one.atMs - other.atMs)

let folder = ''
let whole: Record<string, string[]> = {}
let number = 0
const freshPath = (): string => join(folder, `${++number}.db`)
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-growing-'))
  const path = freshPath()
  await runImport(path, written(folder, asRecorded(LINES)))
  whole = allRows(path)
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

/** Two files that grow, as an audit log and a watch do, line by line in the order of their times. */
function growing(): { recordings: NamedRecording[]; grow: (lines: readonly RecordedLine[]) => void } {
  const at = ++number
  const pathOf = (source: RecordedLine['source']): string => join(folder, `${at}.${source}.jsonl`)
  const recordings = (['audit', 'watch'] as const).map((source) => ({ source, path: pathOf(source) }))
  for (const { path } of recordings) writeFileSync(path, '')
  return {
    recordings,
    grow: (lines) => lines.forEach(({ source, text }) => appendFileSync(pathOf(source), `${text}\n`)),
  }
}

function streamOfTrue(): fc.Stream<boolean> {
  return fc.stream(
    (function* () {
      for (;;) yield true
    })(),
  )
}

/** In which states cascades are. */
function states(path: string): string[] {
  const db = openForReading(path)
  try {
    return db.prepare<[], string>('SELECT DISTINCT state FROM audit_cascades ORDER BY 1').pluck().all()
  } finally {
    db.close()
  }
}

test('a recording that is followed as it grows, with pauses and interruptions, stores what it stores when it is whole', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 60, max: LINES.length - 1 }), { minLength: 1, maxLength: 3 }),
      fc.infiniteStream(fc.boolean()),
      async (cuts, drawn) => {
        const path = freshPath()
        const { recordings, grow } = growing()
        let from = 0
        for (const to of cuts.sort((one, other) => one - other)) {
          const stop = new AbortController()
          const running = runImport(path, recordings, { follow: stop.signal })
          const middle = (from + to) >> 1
          grow(LINES.slice(from, middle))
          const before = toldLines(path)
          // What may still come late is waited for.
          if (drawn.next().value === true && middle - from > 100)
            await eventually(() => expect(toldLines(path)).toBeGreaterThan(before))
          grow(LINES.slice(middle, to))
          stop.abort()
          await running
          from = to
        }
        grow(LINES.slice(from))
        await runImport(path, recordings)
        expect(allRows(path)).toEqual(whole)
      },
    ),
    { numRuns: RUNS, endOnFailure: true, examples: [[[300], streamOfTrue()]] },
  )
}, 600_000)

test('nothing settles because a recording ends for now, and a file that is rotated is followed under its name', async () => {
  const path = freshPath()
  const { recordings, grow } = growing()
  const stop = new AbortController()
  const running = runImport(path, recordings, { follow: stop.signal })
  grow(LINES.slice(0, 250))
  await eventually(() => expect(toldLines(path)).toBeGreaterThan(0))
  const [audit] = recordings
  if (audit === undefined) throw new Error('no audit log')
  renameSync(audit.path, `${audit.path}.1`)
  writeFileSync(audit.path, '')
  grow(LINES.slice(250))
  await eventually(() => expect(toldLines(path)).toBeGreaterThan(300))
  stop.abort()
  await running
  expect(states(path)).toEqual(['open'])
  await runImport(path, [{ source: 'audit', path: `${audit.path}.1` }, ...recordings])
  expect(states(path)).toEqual(['settled'])
  expect(allRows(path)).toEqual(whole)
}, 60_000)

test('a compressed recording cannot be followed', async () => {
  const recordings = written(folder, [{ source: 'audit', lines: [], isCompressed: true }])
  await expect(runImport(freshPath(), recordings, { follow: new AbortController().signal })).rejects.toThrow(
    'which is compressed; name the file that is written to',
  )
})
