import { expect, test } from '@jest/globals'
import type { ReleasedStep, Trace, Waiting } from '../../src/model/linking-ports.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { Open } from './opened.ts'

const waits = (arrival: number, more: Partial<Waiting> = {}): Waiting => {
  const of = { cpid: undefined, origin: undefined, parentId: undefined, behindUntilMs: undefined }
  return { arrival, kind: 'span', ...of, ...more }
}

/** A trace that has just been opened. */
export function openedTrace(root: number, episode = 0): Omit<Trace, 'id' | 'cascade'> {
  const counted = {
    sentSpans: 0,
    sentBytes: 0,
    guestSpans: 0,
    guestBytes: 0,
    controllerSpans: 0,
    failedSpans: 0,
    services: 0,
    merges: 0,
    missing: 0,
  }
  const said = { clockSkew: false, doubtfulTimes: false, truncated: false, rootSent: false }
  const traceId = Buffer.alloc(16, `${root} ${episode}`)
  const times = { openedMs: 0, lastArrivalMs: 0, lastWallMs: 0, dueMs: 1_000, firstNs: 0n, lastNs: 0n }
  const sent = { sentFromNs: 0n, sentToNs: 0n }
  const is = { open: true, provisional: false, continuesRoot: false }
  return { traceId, root, episode, rootSpan: 7n, ...times, ...sent, ...counted, ...said, ...is }
}

/** What any implementation has to keep to of what the linker reads and writes. */
export function linkingContract(open: Open): void {
  test('an exporter that is new begins where it is told, one that stays goes on, and one that is gone is forgotten', async () => {
    using opened = await open()
    const { transactor, reader } = opened
    transactor.run(({ positions }) => {
      expect(positions.traces.keep(['otlp/a', 'otlp/b'], 5)).toEqual(
        new Map([
          ['otlp/a', 5],
          ['otlp/b', 5],
        ]),
      )
      positions.traces.moveTo('otlp/a', 9, 1)
      positions.traces.moveTo('otlp/unknown', 9, 1)
      expect(positions.logs.keep(['otlp/a'], 1)).toEqual(new Map([['otlp/a', 1]]))
    })
    expect(reader.positions('traces')).toEqual(
      new Map([
        ['otlp/a', 9],
        ['otlp/b', 5],
      ]),
    )
    transactor.run(({ positions }) => positions.traces.keep(['otlp/c', 'otlp/a'], 20))
    expect(opened.reopened().reader.positions('traces')).toEqual(
      new Map([
        ['otlp/a', 9],
        ['otlp/c', 20],
      ]),
    )
    expect(reader.positions('logs')).toEqual(new Map([['otlp/a', 1]]))
  })

  test('waiting items are found by what they wait for, and are due in the order of their times', async () => {
    using opened = await open()
    opened.transactor.run(({ waiting }) => {
      waiting.add(waits(3, { cpid: 1 }), 200)
      waiting.add(waits(2, { kind: 'change', cpid: 1 }), 300)
      waiting.add(waits(5, { kind: 'orphan', origin: 4, parentId: -9n }), 100)
      waiting.add(waits(4, { kind: 'cause' }), 100)
      expect(() => waiting.add(waits(4), 1)).toThrow()
      expect(waiting.forCpid(1)).toEqual([waits(2, { kind: 'change', cpid: 1 }), waits(3, { cpid: 1 })])
      expect(waiting.changeOf(1)).toEqual(waits(2, { kind: 'change', cpid: 1 }))
      expect(waiting.changeOf(9)).toBeUndefined()
      waiting.add(waits(6, { kind: 'change', cpid: 7, parentId: -9n }), 900)
      expect(waiting.changesReportedBy(-9n)).toEqual([waits(6, { kind: 'change', cpid: 7, parentId: -9n })])
      expect(waiting.changesReportedBy(9n)).toEqual([])
      expect(waiting.forParent(4, -9n)).toEqual([waits(5, { kind: 'orphan', origin: 4, parentId: -9n })])
      expect([waiting.forCpid(9), waiting.forParent(4, 9n), waiting.due(9)]).toEqual([[], [], []])
      expect([2, 3, 4, 9].map((row) => waiting.hasSpan(row))).toEqual([false, true, true, false])
    })
    opened.clock.advance(200)
    opened.transactor.run(({ waiting }) => {
      expect(waiting.due(9).map(({ arrival }) => arrival)).toEqual([4, 5, 3])
      expect(waiting.due(2)).toHaveLength(2)
      expect([3, 9].map((row) => waiting.untilOf(row))).toEqual([200, undefined])
      expect([waiting.remove(4), waiting.remove(4)]).toEqual([true, false])
      expect(waiting.due(9).map(({ arrival }) => arrival)).toEqual([5, 3])
      waiting.add(waits(7, { kind: 'cause', behindUntilMs: 900 }), 100)
      expect(waiting.due(9).map(({ arrival }) => arrival)).toEqual([5, 7, 3])
      expect([5, 7, 99].map((row) => waiting.isBehind(row))).toEqual([false, true, false])
      expect(waiting.due(9)[1]).toEqual(waits(7, { kind: 'cause', behindUntilMs: 900 }))
    })
  })

  test('unfinished steps are taken once, in their order; steps of items that no longer wait are not taken', async () => {
    using opened = await open()
    const released: ReleasedStep[] = [
      { kind: 'observer', row: 3 },
      { kind: 'child', row: 4, cpid: 7, joined: true },
      { kind: 'child', row: 5, cpid: undefined, joined: false },
      { kind: 'given up', row: 6 },
      { kind: 'waited log', row: 8 },
      { kind: 'moved', row: 9, cpid: 7 },
    ]
    opened.transactor.run(({ waiting, unfinished }) => {
      expect([unfinished.areAny, unfinished.take()]).toEqual([false, undefined])
      waiting.add(waits(2, { kind: 'cause', cpid: 1, behindUntilMs: 900 }), 100)
      unfinished.add([2, 9].map((arrival) => ({ kind: 'waited', waiting: waits(arrival) })))
      unfinished.add(released.slice(2))
      unfinished.addFirst(released.slice(0, 2))
      unfinished.addFirst([{ kind: 'observer', row: 2 }])
    })
    using later = opened.reopened()
    later.transactor.run(({ unfinished }) => {
      const taken: (ReleasedStep | undefined)[] = []
      while (unfinished.areAny) taken.push(unfinished.take())
      const waiting = waits(2, { kind: 'cause', cpid: 1, behindUntilMs: 900 })
      expect(taken).toEqual([
        { kind: 'observer', row: 2 },
        ...released.slice(0, 2),
        { kind: 'waited', waiting },
        undefined,
        ...released.slice(2),
      ])
    })
  })

  test('a CPID has one change span in a trace; those of a trace are read from the root on', async () => {
    using opened = await open()
    opened.transactor.run(({ changes }) => {
      changes.add(1, { trace: 7, spanId: 11n, depth: 1, driven: false })
      changes.add(2, { trace: 7, spanId: -12n, depth: 0, driven: true })
      changes.add(1, { trace: 8, spanId: 13n, depth: 0, driven: true })
      expect(() => changes.add(1, { trace: 7, spanId: 14n, depth: 2, driven: true })).toThrow()
    })
    opened.reopened().transactor.run(({ changes }) => {
      expect(changes.find(2, 7)).toEqual({ trace: 7, spanId: -12n, depth: 0, driven: true })
      expect(changes.find(2, 8)).toBeUndefined()
      const passedOn = { trace: 7, spanId: 11n, depth: 1, driven: false }
      expect(changes.find(1, 7)).toEqual(passedOn)
      changes.noteDriven(1, passedOn)
      expect(changes.find(1, 7)).toEqual({ ...passedOn, driven: true })
      expect(changes.newest(1, 9).map(({ trace }) => trace)).toEqual([8, 7])
      expect(changes.newest(1, 1)).toHaveLength(1)
      expect(changes.cpidsIn(7)).toEqual([2, 1])
    })
  })

  test('a trace is as it was touched, and a cascade is one over several of them', async () => {
    using opened = await open()
    opened.transactor.run(({ traces, linkRound }) =>
      linkRound(() => {
        const first = traces.add(openedTrace(1), undefined)
        const second = traces.add(openedTrace(1, 1), first)
        const other = traces.add(openedTrace(2), undefined)
        expect([first.cascade, second.cascade, other.cascade]).toEqual([first.id, first.id, other.id])
        expect(traces.currentOf(1)).toBe(second)
        expect([traces.addService(first, 'paper'), traces.addService(first, 'paper')]).toEqual([true, false])
        traces.addService(second, 'paper')
        traces.addService(second, 'scissors')
        second.sentSpans = 3
        second.rootSent = true
        traces.touch(second)
        expect(traces.trace(second.id)).toBe(second)
      }),
    )
    opened.reopened().transactor.run(({ traces }) => {
      const [first, second] = traces.ofRoot(1)
      expect(first).toEqual({ ...openedTrace(1), id: first?.id, cascade: first?.id })
      expect(second).toMatchObject({ episode: 1, cascade: first?.id, sentSpans: 3, rootSent: true })
      expect(traces.partsOf(first?.id ?? 0).map(({ episode }) => episode)).toEqual([0, 1])
      expect([traces.servicesIn(first?.id ?? 0), traces.currentOf(1)?.id]).toEqual([2, second?.id])
      expect([traces.trace(9), traces.currentOf(9), traces.ofRoot(9)]).toEqual([undefined, undefined, []])
    })
  })

  test('open traces are due in the order of their time, and settled ones no more', async () => {
    using opened = await open()
    opened.transactor.run(({ traces, linkRound }) =>
      linkRound(() => {
        for (const [root, dueMs] of [1_000, 500, 2_000].entries())
          traces.add({ ...openedTrace(root + 1), dueMs }, undefined)
      }),
    )
    opened.clock.advance(1_000)
    opened.transactor.run(({ traces, linkRound }) =>
      linkRound(() => {
        expect(traces.due(9).map(({ root }) => root)).toEqual([2, 1])
        const [due] = traces.due(1)
        if (due === undefined) throw new Error('none is due')
        due.open = false
        traces.touch(due)
      }),
    )
    expect(opened.transactor.run(({ traces }) => traces.due(9).map(({ root }) => root))).toEqual([1])
  })

  test('CPIDs of a cascade are missing until their mergelogs came, each once', async () => {
    using opened = await open()
    opened.transactor.run(({ graph, changes, traces, linkRound }) =>
      linkRound(() => {
        for (const number of [1, 2, 3]) graph.findOrAdd(cpid(number) as Cpid)
        const first = traces.add(openedTrace(1), undefined)
        const second = traces.add(openedTrace(1, 1), first)
        for (const id of [1, 2])
          changes.add(id, { trace: first.id, spanId: BigInt(id), depth: 0, driven: true })
        for (const id of [2, 3])
          changes.add(id, { trace: second.id, spanId: BigInt(id), depth: 0, driven: true })
        expect(traces.countMissing(second)).toBe(3)
        const node = graph.node(2)
        node.hasMergelog = true
        graph.save(node)
        expect(traces.countMissing(first)).toBe(2)
      }),
    )
  })
}
