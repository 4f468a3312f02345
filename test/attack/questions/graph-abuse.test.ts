import { expect, test } from '@jest/globals'
import { CausewayProcess } from '../../../lab/harness/causeway/causeway-process.ts'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { cpid, mergelogEvent, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'
import { askOver } from './asking.ts'

const FOR_MS = 8_000
const BATCH = 200
const REUSED = 5_000
const YEARS_MS = 9e12
const OWN = cpid(0xffff_ffff)
const HOSTILE = [
  '\u001b]0;gone\u0007',
  '\u202etxt.exe',
  '__proto__',
  'constructor',
  '<script>',
  '\u0000',
  'x'.repeat(5_000),
]

leaveNothingBehind()

test('CPIDs used again, times of other centuries, ids of others, and junk in the change of somebody else', async () => {
  await using causeway = await AttackedCauseway.start({
    patch: {
      connectors: {
        cpid: {
          linking: { max_trace_spans: 1_000 },
          retention: { max_cpids: 2_000, max_age: '24h', interval: '1s' },
        },
      },
    },
  })
  const { ports } = causeway.settings
  using owner = new GrpcSender(ports.grpc)
  await owner.export(
    'logs',
    mergelogsRequest('owner', [{ new: OWN, object: 'apps/v1/deployments/default/web' }]),
  )
  await owner.export('traces', spansRequest('owner', [{ trace: 7, id: 7, cpid: OWN, name: 'the own span' }]))

  let sent = 0
  await causeway.withstands(
    async (_, signal) => {
      const attackers = [reusing, colliding, stuffing].map(async (attack) => {
        using sender = new GrpcSender(ports.grpc)
        while (!signal.aborted) {
          const { signal: kind, bytes } = attack(++sent)
          await sender.export(kind, bytes)
        }
      })
      await Promise.all(attackers)
    },
    { what: 'abuse of the merge graph', longestMs: FOR_MS },
  )
  expect(sent).toBeGreaterThan(10)

  // What the owner had acknowledged is there, though its Causeway had to start again.
  await using again = new CausewayProcess(causeway.settings)
  await again.ready()
  expect(await askOver(again.settings.ports.query, `/api/v1/cpids/${OWN}/spans?limit=1`)).toBe(200)
})

interface Abuse {
  signal: 'traces' | 'logs'
  bytes: Buffer
}

/** The same few CPIDs again and again, as roots, as merges of each other and of themselves, long ago and far ahead. */
function reusing(round: number): Abuse {
  const mergelogs = Array.from({ length: BATCH }, (_, at) => ({
    new: cpid((round * 31 + at * 17) % REUSED),
    sources: at % 3 === 0 ? [] : [cpid((round + at * 7) % REUSED), cpid((round * at) % REUSED)],
    time: at % 2 === 0 ? YEARS_MS : -YEARS_MS / 10,
    object: HOSTILE[at % HOSTILE.length] ?? '',
  }))
  return { signal: 'logs', bytes: mergelogsRequest(HOSTILE[round % HOSTILE.length] ?? '', mergelogs) }
}

/** The owner's trace and span ids, with other content each time, as parents and children of one another. */
function colliding(round: number): Abuse {
  const spans = Array.from({ length: BATCH }, (_, at) => ({
    trace: 7,
    id: 7 + (at % 3),
    parent: 7 + ((at + 1) % 3),
    cpid: at % 2 === 0 ? OWN : cpid(round % REUSED),
    name: `${HOSTILE[at % HOSTILE.length] ?? ''} ${round}`,
    start: at % 2 === 0 ? YEARS_MS : 0,
    events: [mergelogEvent({ new: OWN, sources: [cpid(at % REUSED)] })],
  }))
  return { signal: 'traces', bytes: spansRequest(HOSTILE[round % HOSTILE.length] ?? '', spans) }
}

/** More spans in the owner's change than a trace takes. */
function stuffing(round: number): Abuse {
  const spans = Array.from({ length: BATCH }, (_, at) => ({ trace: 1_000 + round, id: 1 + at, cpid: OWN }))
  return { signal: 'traces', bytes: spansRequest('stranger', spans) }
}
