import { test } from '@jest/globals'
import { cpid, mergelogsRequest, type MergelogSketch } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { flood, type FloodRequest } from './flood.ts'

const PER_REQUEST = 500
const FOR_MS = 8_000
/** As many as are allowed. */
const MAX_SOURCES = 1_024

leaveNothingBehind()

function* inRequests(mergelogs: Iterable<MergelogSketch>): Generator<FloodRequest> {
  let some: MergelogSketch[] = []
  let sent = 0
  const request = (): FloodRequest => ({
    signal: 'logs',
    bytes: mergelogsRequest(`attacker ${sent++ % 3}`, some),
  })
  for (const mergelog of mergelogs) {
    if (some.push(mergelog) < PER_REQUEST) continue
    yield request()
    some = []
  }
  if (some.length > 0) yield request()
}

/** CPIDs of which each merges the thirty before it, in order. */
function* denseGraph(size: number): Generator<MergelogSketch> {
  for (let at = 1; at <= size; at++)
    yield {
      new: cpid(at),
      sources: Array.from({ length: Math.min(30, at - 1) }, (_, back) => cpid(at - 1 - back)),
    }
}

/** One after another, each of which would close a cycle through all of the graph. */
function* closingCycles(size: number): Generator<FloodRequest> {
  for (let at = 0; at < 2_000; at++)
    yield {
      signal: 'logs',
      bytes: mergelogsRequest('attacker', [
        { new: cpid(900_000 + at), sources: [cpid(size)], time: at },
        { new: cpid(0), sources: [cpid(size)], time: at },
      ]),
    }
}

test('a storm of mergelogs that would close cycles through a dense graph', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async (settings, signal) => {
      const base = [{ new: cpid(1), sources: [cpid(0)] }]
      await flood(settings, inRequests(base), signal)
      await flood(settings, inRequests(denseGraph(20_000)), signal)
      await flood(settings, closingCycles(20_000), signal)
    },
    { what: 'dense graph', longestMs: 2 * FOR_MS },
  )
})

/** Backward, so that all of it is explained by the last one. */
function* backwardChain(size: number): Generator<MergelogSketch> {
  for (let at = size; at > 0; at--) yield { new: cpid(at), sources: at > 1 ? [cpid(at - 1)] : [] }
}

test('a chain of a hundred thousand changes that comes backward, and is explained by its last mergelog', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    (settings, signal) => flood(settings, inRequests(backwardChain(100_000)), signal),
    { what: 'deep chain', longestMs: 2 * FOR_MS },
  )
})

/** A CPID that very many merge, and merges of as many sources as are allowed; the CPID's own mergelog comes last. */
function* fans(): Generator<MergelogSketch> {
  for (let at = 1; at <= 20_000; at++) yield { new: cpid(at), sources: [cpid(900_000)] }
  for (let at = 0; at < 200; at++)
    yield {
      new: cpid(100_000 + at),
      sources: Array.from({ length: MAX_SOURCES }, (_, back) => cpid(1 + ((at * 97 + back) % 20_000))),
    }
  yield { new: cpid(900_000), sources: Array.from({ length: MAX_SOURCES }, (_, at) => cpid(800_000 + at)) }
}

test('wide fans: one change that very many merge, and merges with the most sources', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands((settings, signal) => flood(settings, inRequests(fans()), signal), {
    what: 'wide fans',
    longestMs: 2 * FOR_MS,
  })
})
