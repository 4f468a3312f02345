import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { type BlankLines, linesOf, type LongLine } from '../../src/kube/objects/object-json.ts'

const LONGEST = 4

/** A line as a text; a blank one is empty, also with a carriage return. */
const shown = (text: string): string =>
  text === '\r' ? '' : text.length > LONGEST ? `more than ${LONGEST}` : text

const textsOf = (line: Buffer | LongLine | BlankLines): string[] => {
  if ('blank' in line) return Array<string>(line.blank).fill('')
  return ['passedOver' in line ? `more than ${LONGEST}` : shown(line.toString())]
}

async function* chunksOf(chunks: readonly string[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk))
}

const chunk = fc
  .array(fc.constantFrom('\n', '\n\n', '\r\n', '\r', 'a', 'bcd'), { maxLength: 8 })
  .map((parts) => parts.join(''))

test('a stream has the same lines however it comes in pieces, blank ones counted', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 6 }), async (chunks) => {
      const read: string[] = []
      for await (const lines of linesOf(chunksOf(chunks), LONGEST)) read.push(...lines.flatMap(textsOf))
      expect(read).toEqual(chunks.join('').split('\n').slice(0, -1).map(shown))
    }),
    { numRuns: 1_000 },
  )
})

test('blank lines by the million are a few items', async () => {
  const blank = '\n'.repeat(1_000_000)
  const items: unknown[] = []
  for await (const lines of linesOf(chunksOf(['a\n', blank, `${blank}\r\n`]), LONGEST)) items.push(...lines)
  expect(items).toEqual([Buffer.from('a'), { blank: 1_000_000 }, { blank: 1_000_001 }])
})
