import { expect, test } from '@jest/globals'
import type { WriterDatabase } from '../../src/model/store-ports.ts'
import { TestWriter } from '../support/test-writer.ts'

/** Never called: that it compiles says what can be reached. */
function reaches({ transactor, reader }: WriterDatabase): unknown[] {
  return [
    // @ts-expect-error What writes is not there outside of a transaction.
    reader.setAside,
    // @ts-expect-error Neither beside what runs transactions.
    transactor.positions,
    // @ts-expect-error Counters are only read.
    () => (reader.progress.linkedArrival = 0),
    transactor.run(({ positions }) => positions),
    transactor.with((stores) => ({ inside: stores, outside: undefined })).transactor.run((inside) => inside),
  ]
}

test('what is handed out in a transaction is made once, and what it wrote is undone when the work throws', async () => {
  expect(reaches).toHaveLength(1)
  using writer = await TestWriter.open()
  let made = 0
  const { transactor, outside } = writer.stores.transactor.with(({ positions }) => ({
    inside: { keep: (name: string) => positions.traces.keep([name], 0), number: ++made },
    outside: 'may be used at any time',
  }))
  expect(outside).toBe('may be used at any time')
  expect(transactor.run(({ keep, number }) => [keep('otlp/a').size, number])).toEqual([1, 1])
  expect(() =>
    transactor.run(({ keep }) => {
      keep('otlp/b')
      throw new Error('the disk is full')
    }),
  ).toThrow('the disk is full')
  expect([...writer.stores.reader.positions('traces').keys()]).toEqual(['otlp/a'])
  expect(made).toBe(1)
})

test('what is added to be forgotten is forgotten when a transaction is undone, and not else', async () => {
  using writer = await TestWriter.open()
  const { transactor } = writer.stores
  let forgotten = 0
  transactor.alsoForget({ forget: () => forgotten++ })
  transactor.run(() => undefined)
  expect(forgotten).toBe(0)
  writer.rollBack()
  expect(forgotten).toBe(1)
})

test('a transaction in a transaction is refused', async () => {
  using writer = await TestWriter.open()
  const { transactor } = writer.stores
  expect(() => transactor.run(() => transactor.run(() => undefined))).toThrow(/transaction/)
})
