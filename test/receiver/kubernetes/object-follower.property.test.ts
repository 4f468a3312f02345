import { setImmediate } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { eventually } from '../../../lab/harness/eventually.ts'
import type { WatchedVersion } from '../../../src/model/kubernetes-observations.ts'
import { answerStatus, TestApiServer } from '../../cluster/support/test-api-server.ts'
import { MemoryObservations } from './support/memory-observations.ts'
import { STREAM, Watching } from './support/watching.ts'

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('put' as const), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('remove' as const), name }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('settle' as const) }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('turns' as const), turns: fc.integer({ min: 1, max: 60 }) }),
  },
  // While nobody looks, so much happens that the versions from before are no longer kept.
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('lost' as const), names: fc.array(name, { minLength: 1 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'cut',
        'cut half',
        'end',
        'bookmark',
        'compact',
        'restart',
        'busy',
        'failed',
        'refuse',
        'break list',
      ),
    }),
  },
)

test('whatever breaks, what is told is what the history of the API server holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.boolean(), async (steps, streamsLists) => {
      await using api = await TestApiServer.start()
      api.streamsLists = streamsLists
      api.maxPage = 2
      const { history } = api
      let refusals = 0
      api.instead.push((_, response) => {
        if (refusals === 0) return false
        refusals--
        answerStatus(response, 429, 'TooManyRequests')
        return true
      })
      const port = new MemoryObservations()
      const lists: string[] = []
      let watching = new Watching(api, port)
      const settled = (): Promise<void> =>
        eventually(() => {
          api.bookmark()
          expect(port.positions.get(`test ${STREAM}`)).toBe(String(history.version))
        })
      let compactions = 0
      for (const next of steps)
        switch (next.kind) {
          case 'put':
          case 'remove':
            history[next.kind](next)
            break
          case 'turns':
            for (let turn = 0; turn < next.turns; turn++) await setImmediate()
            break
          case 'lost':
            api.cut()
            for (const gone of next.names) history.remove({ name: gone })
            history.put({ name: 'new' })
            history.compact()
            compactions++
            break
          case 'cut':
          case 'cut half':
            api.cut(next.kind === 'cut half')
            break
          case 'end':
          case 'bookmark':
            api[next.kind]()
            break
          case 'compact':
            history.compact()
            compactions++
            break
          case 'busy':
            for (let time = 0; time < 5; time++)
              port.outcomes.push({ kind: next.kind, retryAfterMs: 14 - time, reason: 'full' })
            break
          case 'failed':
            port.outcomes.push({ kind: next.kind, reason: 'the disk is full' })
            break
          case 'refuse':
            refusals++
            break
          case 'break list':
            api.brokenLists++
            break
          case 'settle':
            await settled()
            break
          case 'restart':
            await watching[Symbol.asyncDispose]()
            lists.push(...watching.lists)
            watching = new Watching(api, port)
        }
      await settled()
      await watching[Symbol.asyncDispose]()
      lists.push(...watching.lists)

      // In the end the same objects are known in the same versions.
      const held = [...port.known.values()].map(({ identity, version }) => `${identity.uid}@${version}`)
      const there = history.objects().map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`)
      expect(held.sort()).toEqual(there.sort())

      // Nothing is told that was not so.
      for (const told of port.told)
        if (told.source === 'watch') {
          const event = history.events.find(({ version }) => BigInt(version) === told.version)!
          expect([told.object.uid, told.gone]).toEqual([event.object.metadata.uid, event.type === 'DELETED'])
        } else if (told.source === 'list') {
          const asOf = history.objects('widgets', Number(told.version))
          expect(asOf.map(({ metadata }) => metadata.uid)).not.toContain(told.object.uid)
        }

      // Events come in order and once, and none is missing but below a list, of which there are no more than needed.
      const watched = port.told.filter((told): told is WatchedVersion => told.source === 'watch')
      const events = watched.filter(({ by }) => by === 'event').map(({ version }) => Number(version))
      expect(events).toEqual([...new Set(events)].sort((one, other) => one - other))
      const listed = Math.max(...lists.map(Number))
      const missed = history.events.filter(({ version }) => version > listed && !events.includes(version))
      expect(missed).toEqual([])
      expect(lists.length).toBeLessThanOrEqual(1 + compactions)
    }),
    { numRuns: 150 },
  )
})
