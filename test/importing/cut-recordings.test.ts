import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { constants, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from '@jest/globals'
import { Recording } from '../../src/importing/recordings.ts'

const folder = mkdtempSync(join(tmpdir(), 'cut-'))
afterAll(() => rmSync(folder, { recursive: true }))

const CHUNK = 65_536
/** Lines that do not become smaller. */
const lines = (count: number, bytes: number): string =>
  Array.from(
    { length: count },
    (_, at) => `${createHash('shake256', { outputLength: bytes }).update(`${at}`).digest('hex')}\n`,
  ).join('')
const SMALL = [gzipSync(lines(4, 20)), gzipSync(lines(3, 9))] as const
const LARGE = [gzipSync(lines(90, 1_000)), gzipSync(lines(90, 1_000))] as const
const everywhere = Array.from({ length: Buffer.concat(SMALL).length - 2 }, (_, at) => at + 2)
const aroundChunks = [1, 2].flatMap((chunks) => [-8, -1, 0, 1, 9].map((more) => chunks * CHUNK + more))

test.each([
  ['at every byte', SMALL, everywhere],
  ['around the chunks in which it is read', LARGE, aroundChunks],
])(
  'a recording of two gzip members that is cut off %s gives all that gzip gives',
  async (_, members, cuts) => {
    const whole = Buffer.concat(members)
    const path = join(folder, 'recording.gz')
    for (const cut of [...cuts, whole.length]) {
      const bytes = whole.subarray(0, cut)
      writeFileSync(path, bytes)
      const recording = await Recording.open({ source: 'audit', path })
      const read: string[] = []
      for await (const some of recording.lines()) {
        for (const line of some)
          read.push(
            ...('blank' in line
              ? Array<string>(line.blank).fill('')
              : [Buffer.isBuffer(line) ? line.toString() : 'too long']),
          )
      }
      const text = gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString()
      const isWhole = cut === members[0].length || cut === whole.length
      expect({ cut, text: read.join('\n').trimEnd(), isCutShort: recording.isCutShort }).toEqual({
        ...{ cut, text: text.trimEnd() },
        isCutShort: !isWhole,
      })
    }
  },
)
