import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { openForReading } from '../../src/store/sqlite/open-database.ts'
import { TestWriter } from '../support/test-writer.ts'

let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-moved-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

/** What happens to a database, and how it is taken back. */
const MISHAPS = {
  'the file is moved': (path: string) => moving(path, `${path}-elsewhere`),
  'the file is replaced by a copy': (path: string) => {
    const back = moving(path, `${path}-elsewhere`)
    copyFileSync(`${path}-elsewhere`, path)
    return back
  },
  'the write-ahead log is moved': (path: string) => moving(`${path}-wal`, `${path}-elsewhere`),
  'the folder is moved': (path: string) => moving(dirname(path), `${dirname(path)}-elsewhere`),
  'the file is cut off': (path: string) => cuttingOff(path),
  'the write-ahead log is cut off': (path: string) => cuttingOff(`${path}-wal`),
}

function moving(from: string, to: string): () => void {
  renameSync(from, to)
  return () => renameSync(to, from)
}

function cuttingOff(path: string): () => void {
  const rest = readFileSync(path)
  truncateSync(path)
  return () => appendFileSync(path, rest)
}

const mishap = fc.constantFrom(...(Object.keys(MISHAPS) as (keyof typeof MISHAPS)[]))

test('nothing is acknowledged that would be lost, whatever happens to the files meanwhile', async () => {
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.option(mishap), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (happens, byLink) => {
        const home = join(folder, String(run++))
        mkdirSync(home)
        const path = join(home, 'causeway.db')
        const link = `${home}-link.db`
        if (byLink) symlinkSync(path, link)
        let acknowledged = 0
        {
          using writer = await TestWriter.open({}, byLink ? link : path)
          const send = () => writer.spans('controller', [{ trace: acknowledged + 1, id: 1 }])
          const store = (): void => {
            expect(send()).toMatchObject({ kind: 'accepted', stored: 1 })
            acknowledged++
          }
          store()
          for (const what of happens) {
            if (what === null) {
              store()
              continue
            }
            const takeBack = MISHAPS[what](path)
            expect(send()).toEqual({
              kind: 'failed',
              reason: expect.stringMatching(
                what.endsWith('cut off')
                  ? /was cut off while causeway runs$/
                  : /was moved, deleted or replaced while causeway runs.*; or restart causeway, which takes what is there then$/,
              ),
            })
            takeBack()
          }
          store()
        }
        const stored = openForReading(path)
        expect(stored.prepare('SELECT count(*) FROM spans').pluck().get()).toBe(acknowledged)
        stored.close()
      },
    ),
    { numRuns: 15 },
  )
})
