import { expect, test } from '@jest/globals'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { Inside, Open } from './opened.ts'

const ONE = cpid(1) as Cpid
const TWO = cpid(2) as Cpid

/** What any transactor has to keep to. */
export function transactionsContract(open: Open): void {
  test('what was committed is there afterwards, for another process too', async () => {
    using opened = await open()
    const { id } = opened.transactor.run(({ graph }) => graph.findOrAdd(ONE))
    expect(opened.transactor.run(({ graph }) => graph.find(ONE)?.id)).toBe(id)
    expect(opened.reopened().transactor.run(({ graph }) => graph.find(ONE)?.id)).toBe(id)
  })

  test('a transaction that throws is rolled back as a whole, with counters and caches, and the error is rethrown', async () => {
    using opened = await open()
    opened.transactor.run(({ graph }) => graph.announce(graph.findOrAdd(ONE).id, 'explained'))
    const broken = new Error('broken off')
    expect(() =>
      opened.transactor.run(({ graph, positions }) => {
        const node = graph.node(graph.findOrAdd(ONE).id)
        node.explained = true
        graph.save(node)
        graph.announce(graph.findOrAdd(TWO).id, 'explained')
        positions.traces.keep(['otlp/one'], 7)
        throw broken
      }),
    ).toThrow(broken)
    expect(opened.reader.progress.lastArrival).toBe(1)
    expect(opened.reader.positions('traces').size).toBe(0)
    const { one, two, next } = opened.transactor.run(({ graph }) => ({
      one: graph.find(ONE)?.explained,
      two: graph.find(TWO),
      next: graph.announce(1, 'mergelog'),
    }))
    expect([one, two, next]).toEqual([false, undefined, 2])
  })

  test('a part that throws is undone by itself, and what came before and after it stays', async () => {
    using opened = await open()
    const attempted = ({ attempt, graph }: Inside): unknown => {
      graph.findOrAdd(ONE)
      expect(() =>
        attempt(() => {
          graph.findOrAdd(TWO)
          throw new Error('this one alone')
        }),
      ).toThrow('this one alone')
      return attempt(() => graph.findOrAdd(cpid(3) as Cpid).cpid)
    }
    expect(opened.transactor.run(attempted)).toBe(cpid(3))
    const known = opened.transactor.run(({ graph }) =>
      [1, 2, 3].map((at) => graph.find(cpid(at) as Cpid)?.cpid),
    )
    expect(known).toEqual([ONE, undefined, cpid(3)])
  })

  test('there is one transaction at a time, and the outer one goes on when an inner one is refused', async () => {
    using opened = await open()
    const { transactor } = opened
    transactor.run(({ graph }) => {
      expect(() => transactor.run(() => undefined)).toThrow(/transaction/)
      graph.findOrAdd(ONE)
    })
    expect(transactor.run(({ graph }) => graph.find(ONE))).toBeDefined()
  })

  test('what is built on the ports is built once, and its caches are rolled back with the transaction', async () => {
    using opened = await open()
    let made = 0
    let forgotten = 0
    const { transactor, outside } = opened.transactor.with(({ graph }) => {
      made++
      return { inside: { sight: () => graph.findOrAdd(ONE).id }, outside: 'outside' }
    })
    transactor.alsoForget({ forget: () => forgotten++ })
    expect([transactor.run(({ sight }) => sight()), transactor.run(({ sight }) => sight()), outside]).toEqual(
      [1, 1, 'outside'],
    )
    expect([made, forgotten]).toEqual([1, 0])
    expect(() =>
      opened.transactor.run(() => {
        throw new Error('undone')
      }),
    ).toThrow('undone')
    expect([made, forgotten]).toEqual([1, 1])
  })

  test('time is that of the beginning of the transaction, and up time goes on', async () => {
    using opened = await open()
    opened.transactor.run(() => undefined)
    const before = { ...pick(opened.reader.progress) }
    opened.clock.advance(1_500)
    opened.transactor.run(({ arrivals }) => {
      opened.clock.advance(10)
      expect(arrivals.wallMs).toBe(before.wallMs + 1_500)
    })
    expect(pick(opened.reader.progress)).toEqual({
      wallMs: before.wallMs + 1_500,
      activeMs: before.activeMs + 1_500,
    })
  })
}

function pick({ wallMs, activeMs }: { wallMs: number; activeMs: number }): {
  wallMs: number
  activeMs: number
} {
  return { wallMs, activeMs }
}
