import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { sendSplitting, type SplitOutcome } from '../../src/exporter/drain.ts'
import type { SendOutcome } from '../../src/model/outbox.ts'
import { DELIVERED, refused, retry, scripted } from './scripted-transport.ts'
import { going } from './transport-settings.ts'

interface Run {
  outcome: SplitOutcome
  sent: number[][]
  dropped: { items: number; reason: string }[]
}

/** Items are small numbers, and a request is one byte for each. */
async function run(items: number[], answer: (part: number[], before: number) => SendOutcome): Promise<Run> {
  const transport = scripted((request, before) => answer([...request], before))
  const dropped: Run['dropped'] = []
  const outcome = await sendSplitting(items, {
    encode: (part) => Uint8Array.from(part),
    transport,
    signal: going(),
    onDrop: (drop) => dropped.push(drop),
  })
  return { outcome, sent: transport.sent.map((request) => [...request]), dropped }
}

test('a batch that is taken is sent once', async () => {
  const { outcome, sent, dropped } = await run([1, 2, 3], () => DELIVERED)
  expect(outcome).toEqual({ kind: 'done', delivered: 3, refused: 0 })
  expect(sent).toEqual([[1, 2, 3]])
  expect(dropped).toEqual([])
})

test('an empty batch is not sent', async () => {
  const { outcome, sent } = await run([], () => DELIVERED)
  expect(outcome).toEqual({ kind: 'done', delivered: 0, refused: 0 })
  expect(sent).toEqual([])
})

test('only the item that is refused by itself is passed over', async () => {
  const { outcome, sent, dropped } = await run([1, 2, 3, 4, 5], (part) =>
    part.includes(4) ? refused(true) : DELIVERED,
  )
  expect(outcome).toEqual({ kind: 'done', delivered: 4, refused: 1 })
  expect(sent).toEqual([[1, 2, 3, 4, 5], [1, 2, 3], [4, 5], [4], [5]])
  expect(dropped).toEqual([{ items: 1, reason: 'bad' }])
})

test('what no smaller batch could help is passed over whole', async () => {
  const { outcome, sent } = await run([1, 2, 3], () => refused(false))
  expect(outcome).toEqual({ kind: 'done', delivered: 0, refused: 3 })
  expect(sent).toHaveLength(1)
})

test('a partial success counts what was refused, and never more than was sent', async () => {
  const answers: SendOutcome[] = [
    { kind: 'delivered', refused: 2, message: 'old' },
    { kind: 'delivered', refused: 99, message: 'old' },
  ]
  for (const [answer, lost] of [[answers[0]!, 2] as const, [answers[1]!, 3] as const]) {
    const { outcome, dropped } = await run([1, 2, 3], () => answer)
    expect(outcome).toEqual({ kind: 'done', delivered: 3 - lost, refused: lost })
    expect(dropped).toEqual([{ items: lost, reason: 'old' }])
  }
})

test('a retry leaves the batch unfinished', async () => {
  const { outcome, sent } = await run([1, 2, 3, 4], (_, before) => (before === 0 ? refused(true) : retry(7)))
  expect(outcome).toEqual({ kind: 'unfinished' })
  expect(sent).toHaveLength(2)
})

test('whatever is refused, the rest arrives once and in order', async () => {
  const bytes = fc.uniqueArray(fc.nat(255), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(
      bytes,
      fc.func(fc.boolean()),
      fc.integer({ min: 1, max: 40 }),
      async (items, isBad, most) => {
        const taken: number[] = []
        const { outcome } = await run(items, (part) => {
          if (part.length > most || part.some((item) => isBad(item))) return refused(true)
          taken.push(...part)
          return DELIVERED
        })
        const good = items.filter((item) => !isBad(item))
        expect(taken).toEqual(good)
        expect(outcome).toMatchObject({
          kind: 'done',
          delivered: good.length,
          refused: items.length - good.length,
        })
      },
    ),
  )
})
