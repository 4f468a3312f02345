import { expect, test } from '@jest/globals'
import type { ArrivalStore, ReportingSpanIds } from '../../src/model/arrivals.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { cpid } from '../support/otlp-requests.ts'
import type { Inside, Open } from './opened.ts'

const scopeOf = (arrivals: ArrivalStore, service: string, cluster?: string): number =>
  arrivals.scope({ envelope: Buffer.from(`${service} ${cluster}`), service, cluster }, Buffer.from('scope'))

/** Stores a mergelog of a CPID; returns its number and the arrival's. */
export function merge(
  { arrivals, graph }: Pick<Inside, 'arrivals' | 'graph'>,
  number: number,
  {
    sources = [],
    timeNs,
    scope,
    told,
    isWorkedOut = false,
  }: { sources?: number[]; timeNs: bigint; scope: number; told?: ReportingSpanIds; isWorkedOut?: boolean },
): { id: number; arrival: number } {
  const id = graph.findOrAdd(cpid(number) as Cpid).id
  const mergelog = { cpid: cpid(number) as Cpid, sources: sources.map((source) => cpid(source) as Cpid) }
  const record = {
    newCpid: mergelog.cpid,
    sources: mergelog.sources,
    timeNs,
    object: undefined,
    reason: 'why',
  }
  const arrival = graph.announce(id, 'mergelog')
  const from = { scope, cluster: '' }
  const how = { reportingSpan: told, replaces: false, isWorkedOut }
  arrivals.addMergelog(id, arrival, mergelog, record, timeNs, from, how)
  return { id, arrival }
}

/** What any store of arrivals has to keep to. */
export function arrivalsContract(open: Open): void {
  test('a request is known by its hash, with what was answered', async () => {
    using opened = await open()
    const [one, other] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
    opened.transactor.run(({ arrivals }) => {
      arrivals.addRequest(one, { rejected: 3, message: 'three spans are too large' })
      arrivals.endRequests()
    })
    const answers = opened
      .reopened()
      .transactor.run(({ arrivals }) => [arrivals.answerTo(one), arrivals.answerTo(other)])
    expect(answers).toEqual([{ rejected: 3, message: 'three spans are too large' }, undefined])
  })

  test('a scope has one number as long as its envelopes are the same', async () => {
    using opened = await open()
    const numbers = opened.transactor.run(({ arrivals }) => [
      scopeOf(arrivals, 'paper', 'north'),
      scopeOf(arrivals, 'paper', 'south'),
      scopeOf(arrivals, 'paper', 'north'),
    ])
    expect(numbers[2]).toBe(numbers[0])
    expect(numbers[1]).not.toBe(numbers[0])
    const again = opened.reopened().transactor.run(({ arrivals }) => scopeOf(arrivals, 'paper', 'south'))
    expect(again).toBe(numbers[1])
  })

  test('a mergelog is read as it was said, and its CPID is whose resource sent it', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const scope = scopeOf(inside.arrivals, 'paper', 'north')
      const { id, arrival } = merge(inside, 3, { sources: [1, 2], timeNs: 5n, scope })
      expect(inside.graph.storedSources(id)).toEqual([cpid(1), cpid(2)])
      expect(inside.arrivals.ownerOf(id)).toEqual({ service: 'paper', cluster: 'north' })
      const { wallMs } = inside.arrivals
      const said = {
        arrival,
        timeNs: 5n,
        arrivedMs: wallMs,
        sources: [cpid(1), cpid(2)],
        scope,
        reason: 'why',
        replaces: false,
        isWorkedOut: false,
      }
      expect(inside.mergelogs.find(id)).toEqual({ ...said, object: undefined, cluster: 'north' })
      expect(inside.graph.storedSources(id + 1)).toBeUndefined()
      expect(inside.arrivals.ownerOf(id + 1)).toBeUndefined()
      expect(inside.mergelogs.find(id + 1)).toBeUndefined()
    })
  })

  test('which span told of a change is known with the time, as far as it was said', async () => {
    using opened = await open()
    opened.clock.advance(70)
    const said = [{ traceKey: 'sixteen bytes id', spanId: -3n }, { traceKey: '', spanId: 3n }, undefined]
    const ids = opened.transactor.run((inside) => {
      const scope = scopeOf(inside.arrivals, 'paper')
      return said.map((told, at) => merge(inside, at + 1, { timeNs: 5n, scope, ...(told && { told }) }).id)
    })
    opened.reopened().transactor.run((inside) => {
      const traceId = Buffer.from('sixteen bytes id')
      const told = { traceId, spanId: -3n, sinceMs: 70 }
      expect(ids.map((id) => inside.mergelogs.reporterOf(id))).toEqual([told, undefined, undefined])
      inside.arrivals.contestMergelog(ids[0] ?? 0, cpid(1) as Cpid)
      expect(inside.mergelogs.reporterOf(ids[0] ?? 0)).toBeUndefined()
    })
  })

  test('a contested mergelog makes room for another', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const first = merge(inside, 1, { timeNs: 5n, scope: scopeOf(inside.arrivals, 'stranger') })
      expect(inside.arrivals.contestMergelog(first.id, cpid(1) as Cpid)).toBe(true)
      expect(inside.mergelogs.find(first.id)).toBeUndefined()
      merge(inside, 1, { timeNs: 6n, scope: scopeOf(inside.arrivals, 'owner') })
      expect(inside.arrivals.ownerOf(first.id)).toEqual({ service: 'owner', cluster: '' })
    })
  })

  test('a worked-out mergelog may lose sources, and then counts as arrived anew', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const scope = scopeOf(inside.arrivals, 'owner')
      const { id } = merge(inside, 3, { sources: [1, 2], timeNs: 5n, scope, isWorkedOut: true })
      inside.arrivals.narrowWorkedOut(id, 77, [cpid(2) as Cpid])
      expect(inside.mergelogs.find(id)).toMatchObject({
        ...{ arrival: 77, sources: [cpid(2)], replaces: true, isWorkedOut: true, timeNs: 5n },
      })
    })
  })

  test('a worked-out mergelog gives way to the sender’s own, and no sender is refused for it', async () => {
    using opened = await open()
    opened.transactor.run((inside) => {
      const scope = scopeOf(inside.arrivals, 'owner')
      const { id } = merge(inside, 1, { timeNs: 5n, scope, isWorkedOut: true })
      expect(inside.mergelogs.find(id)?.isWorkedOut).toBe(true)
      expect(inside.arrivals.isWorkedOut(id)).toBe(true)
      expect(inside.arrivals.contestMergelog(id, cpid(1) as Cpid)).toBe(false)
      merge(inside, 1, { timeNs: 6n, scope })
      expect(inside.arrivals.isWorkedOut(id)).toBe(false)
    })
  })
}
