import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { asRecorded, BrokenOff, runImport, written, type RecordedFile } from './imports.ts'
import { allRows, linesOfRollout, type RecordedLine } from './recorded-lines.ts'

const MANY = process.env.CAUSEWAY_FAULTS === '1'
const RUNS = MANY ? 8 : 2
/** In these seconds a rollout begins; or all of it. */
const LINES = MANY ? linesOfRollout() : linesOfRollout(66, 82)

let folder = ''
let whole: Record<string, string[]> = {}
let number = 0
const freshPath = (): string => join(folder, `${++number}.db`)
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-import-'))
  whole = await stored(asRecorded(LINES))
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true }))

async function stored(files: readonly RecordedFile[]): Promise<Record<string, string[]>> {
  const path = freshPath()
  await runImport(path, written(folder, files))
  return allRows(path)
}

type Draw = (below: number) => number
const draws = fc.infiniteStream(fc.nat()).map(
  (drawn): Draw =>
    (below) =>
      (drawn.next().value ?? 0) % below,
)

/** The lines in up to `most` files for each source, in their order or in any. */
function divided(
  lines: readonly RecordedLine[],
  draw: Draw,
  most: number,
  isShuffled: boolean,
): RecordedFile[] {
  const groups = new Map<string, { source: RecordedFile['source']; lines: string[]; isCompressed: boolean }>()
  for (const { source, text } of lines) {
    const key = `${source} ${draw(most)}`
    const group = groups.get(key) ?? { source, lines: [], isCompressed: draw(2) === 0 }
    groups.set(key, group)
    group.lines.splice(isShuffled ? draw(group.lines.length + 1) : group.lines.length, 0, text)
  }
  return [...groups.values()]
    .map((one) => ({ one, at: draw(100) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one)
}

test('the same lines give the same rows, in whatever files and order they stand', async () => {
  await fc.assert(
    fc.asyncProperty(draws, fc.integer({ min: 1, max: 5 }), fc.boolean(), async (draw, most, isShuffled) => {
      expect(await stored(divided(LINES, draw, most, isShuffled))).toEqual(whole)
    }),
    { numRuns: RUNS, endOnFailure: true },
  )
}, 600_000)

test('a watch gives the same rows in one file as in a file for each kind of object', async () => {
  const watched = LINES.filter(({ source }) => source === 'watch')
  const kindOf = ({ text }: RecordedLine): string =>
    (JSON.parse(text) as { object: { kind: string } }).object.kind
  const byKind = [...Map.groupBy(watched, kindOf).values()].flatMap((lines) => asRecorded(lines))
  expect(byKind.length).toBeGreaterThan(5)
  expect(await stored(byKind)).toEqual(await stored(asRecorded(watched)))
}, 120_000)

test('an import that breaks off at any time and is run again, often, stores what an undisturbed one does', async () => {
  await fc.assert(
    fc.asyncProperty(
      draws,
      fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: MANY ? 8 : 4 }),
      fc.integer({ min: 1, max: 60 }),
      async (draw, breaks, turnsTogether) => {
        const path = freshPath()
        let broken = 0
        const files = (): ReturnType<typeof written> => written(folder, divided(LINES, draw, 3, true))
        for (const breaksAfter of breaks)
          if ((await runImport(path, files(), { breaksAfter, turnsTogether })) instanceof BrokenOff) broken++
        expect(broken).toBeGreaterThan(0)
        await runImport(path, files())
        expect(allRows(path)).toEqual(whole)
        expect(await runImport(path, files())).toMatchObject({ lines: 0, told: 0, known: LINES.length })
        expect(allRows(path)).toEqual(whole)
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  )
}, 600_000)
