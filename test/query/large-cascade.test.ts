import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from '@jest/globals'
import type { Question } from '../../src/query/question.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { id } from './asking.ts'

const SPANS = 100_000
const AT_ONCE = 5_000
/** Of a Pod: its reconcile, and calls in it. */
const OF_POD = 10
/** After this the test counts as hung. A busy machine needs minutes. */
const LONGEST_MS = 480_000
/** What an answer may take of its thread. */
const OLD_MB = 200

const ROOT = id(1)
const QUESTIONS: readonly Question[] = [
  { kind: 'cascade', root: ROOT },
  { kind: 'touchedObjects', root: ROOT, limit: 10_000 },
  { kind: 'matchingSpans', root: ROOT, contains: 'nowhere', limit: 10_000 },
  { kind: 'compare', a: ROOT, b: ROOT },
  { kind: 'spans', cpid: ROOT, part: {} },
]

test(
  'no answer about a cascade of a hundred thousand spans takes more than 200 MB',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'causeway-large-cascade-'))
    try {
      const path = join(folder, 'causeway.db')
      await write(path)
      const worker = new Worker(new URL('answer-in-worker.ts', import.meta.url), {
        workerData: { path, questions: QUESTIONS },
        resourceLimits: { maxOldGenerationSizeMb: OLD_MB, maxYoungGenerationSizeMb: 16 },
      })
      const [lengths] = (await once(worker, 'message')) as [number[]]
      const [cascade, objects] = lengths
      expect(cascade).toBeGreaterThan(SPANS * 100)
      expect(objects).toBeLessThan((cascade ?? 0) / 2)
      expect(lengths.every((length) => length > 0)).toBe(true)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  LONGEST_MS,
)

async function write(path: string): Promise<void> {
  using writer = await TestWriter.open({}, path)
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  for (let from = 0; from < SPANS; from += AT_ONCE) {
    const spans = Array.from({ length: AT_ONCE }, (_, at) => {
      const span = from + at + 1
      const isTop = at % OF_POD === 0
      const pod = `v1/pods/default/web-${Math.floor(span / OF_POD)}`
      return {
        ...{
          trace: 10 + Math.floor((span - 1) / OF_POD),
          id: span,
          cpid: cpid(1),
          start: span,
          end: span + 40,
        },
        ...(isTop ? { name: 'reconcile Pod' } : { name: 'update v1/pods', parent: span - 1 }),
        attributes: { 'cpid.wrote': [`${pod}?uid=u${span}&rv=${span}`] },
      }
    })
    writer.spans(`controller-${(from / AT_ONCE) % 7}`, spans)
    writer.link()
  }
}
