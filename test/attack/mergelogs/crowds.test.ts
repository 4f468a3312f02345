import { test } from '@jest/globals'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { flood, type FloodRequest } from './flood.ts'

const MANY = 100_000
const PER_REQUEST = 50
const FOR_MS = 15_000
const YEAR_MS = 365 * 24 * 3_600_000

leaveNothingBehind()

/** Requests of one resource each, put one after the other, which makes one request of them. */
function* together(signal: FloodRequest['signal'], one: (at: number) => Buffer): Generator<FloodRequest> {
  for (let at = 0; at < MANY; at += PER_REQUEST)
    yield { signal, bytes: Buffer.concat(Array.from({ length: PER_REQUEST }, (_, more) => one(at + more))) }
}

test('a hundred thousand services', async () => {
  await using causeway = await AttackedCauseway.start()
  const requests = together('traces', (at) =>
    spansRequest(`service ${at}`, [{ trace: at + 1, id: at + 1, cpid: cpid(1 + (at % 1_000)) }]),
  )
  await causeway.withstands((settings, signal) => flood(settings, requests, signal), {
    what: 'many services',
    longestMs: FOR_MS,
  })
})

test('a hundred thousand clusters, and objects read and written in each', async () => {
  await using causeway = await AttackedCauseway.start()
  const requests = together('traces', (at) =>
    spansRequest(
      'service',
      [
        {
          trace: at + 1,
          id: at + 1,
          cpid: cpid(1 + (at % 1_000)),
          attributes: {
            'cpid.observed': [`apps/v1/deployments/default/object-${at}?rv=${at}`],
            'cpid.wrote': [`v1/pods/default/object-${at}?rv=${at + 1}`],
          },
        },
      ],
      `cluster ${at}`,
    ),
  )
  await causeway.withstands((settings, signal) => flood(settings, requests, signal), {
    what: 'many clusters and objects',
    longestMs: FOR_MS,
  })
})

test('CPIDs used again and again, with times in the far future, while little may be kept', async () => {
  await using causeway = await AttackedCauseway.start({
    patch: { connectors: { cpid: { retention: { max_cpids: 500, interval: '100ms' } } } },
  })
  const requests = together('logs', (at) =>
    mergelogsRequest(`attacker ${at % 7}`, [
      {
        new: cpid(1 + (at % 2_000)),
        sources: [cpid(1 + ((at * 31) % 2_000)), cpid(5_000 + (at % 3_000))],
        time: (at % 100) * YEAR_MS,
      },
    ]),
  )
  await causeway.withstands((settings, signal) => flood(settings, requests, signal), {
    what: 'CPIDs used again',
    longestMs: FOR_MS,
  })
})
