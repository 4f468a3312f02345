import { expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { type CausewaySettings, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { askStored } from '../../lab/harness/causeway/stored-data.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { outcomeOfReply } from '../../src/exporter/backend-replies.ts'
import { cpid, type MergelogSketch, mergelogsRequest } from '../support/otlp-requests.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

const SENDERS = 4
const ROUNDS = 3
const CPIDS = 60
const RING = 5

leaveNothingBehind()

interface Sent {
  mergelogs: readonly MergelogSketch[]
  /** How many of them each transport said were refused. */
  refused: number[]
}

/** Each CPID once, all of them on rings; each names others at random besides, so that most orders close some cycle. */
function ringsOf(round: number, random: () => number): MergelogSketch[] {
  const first = round * CPIDS + 1
  return Array.from({ length: CPIDS }, (_, at) => {
    const ring = at - (at % RING)
    const next = first + ring + ((at + 1) % RING)
    const other = first + Math.floor(random() * CPIDS)
    return {
      new: cpid(first + at),
      sources: [...new Set([next, other])].filter((id) => id !== first + at).map(cpid),
    }
  })
}

/** One to three mergelogs in a request, in any order. */
function requestsOf(mergelogs: readonly MergelogSketch[], random: () => number): MergelogSketch[][] {
  const left = mergelogs
    .map((mergelog) => ({ mergelog, at: random() }))
    .sort((one, other) => one.at - other.at)
  const requests: MergelogSketch[][] = []
  while (left.length > 0) {
    requests.push(left.splice(0, 1 + Math.floor(random() * 3)).map(({ mergelog }) => mergelog))
  }
  return requests
}

function refusedIn(reply: Uint8Array): number {
  const outcome = outcomeOfReply(reply)
  return outcome.kind === 'delivered' ? outcome.refused : NaN
}

test('mergelogs that race each other over many connections of both transports: no cycle is stored, and what was refused was said', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  const senders = Array.from({ length: SENDERS }, () => new GrpcSender(settings.ports.grpc))
  const random = seededRandom(77)
  const sent: Sent[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const requests = requestsOf(ringsOf(round, random), random)
    const answers = requests.map(async (mergelogs, at): Promise<Sent> => {
      const bytes = mergelogsRequest('racer', mergelogs)
      // The same bytes on both transports at once, as from a sender that tries again while its first call is under way.
      const refused = await Promise.all([
        overGrpc(senders[at % SENDERS], bytes),
        overHttp(settings.ports.http, bytes),
      ])
      return { mergelogs, refused }
    })
    sent.push(...(await Promise.all(answers)))
  }
  for (const sender of senders) sender[Symbol.dispose]()

  const stored = storedMerges(settings)
  expect(stored.cycles).toBe(0)
  for (const { mergelogs, refused } of sent) {
    const missing = mergelogs.filter(({ new: id }) => !stored.merged.has(id)).length
    expect(refused).toEqual([missing, missing])
  }
  const all = sent.flatMap(({ mergelogs }) => mergelogs)
  const taken = all.filter(({ new: id }) => stored.merged.has(id))
  expect(taken.length).toBeLessThanOrEqual(all.length - (ROUNDS * CPIDS) / RING)
  expect(stored.edges).toEqual(
    new Set(taken.flatMap(({ new: id, sources = [] }) => sources.map((source) => `${source} > ${id}`))),
  )
  expect(stored.rejected).toEqual(new Set(all.filter((one) => !taken.includes(one)).map(({ new: id }) => id)))
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

async function overGrpc(sender: GrpcSender | undefined, bytes: Buffer): Promise<number> {
  const answer = await sender?.export('logs', bytes)
  expect(answer).toMatchObject({ code: 0 })
  return refusedIn(answer?.response ?? Buffer.alloc(0))
}

async function overHttp(port: number, bytes: Buffer): Promise<number> {
  const { status, body } = await post(port, '/v1/logs', PROTOBUF, bytes)
  // With what it says, where it is not taken.
  expect([status, status === 200 ? '' : body.toString('utf8')]).toEqual([200, ''])
  return refusedIn(body)
}

function storedMerges(settings: CausewaySettings) {
  return askStored(settings, (db) => {
    const texts = (query: string): Set<string> => new Set(db.prepare<[], string>(query).pluck().all())
    return {
      cycles: db
        .prepare<[], number>(
          `WITH RECURSIVE below (top, id) AS (
             SELECT source, target FROM edges
             UNION SELECT below.top, edges.target FROM below JOIN edges ON edges.source = below.id)
           SELECT count(*) FROM below WHERE top = id`,
        )
        .pluck()
        .get(),
      merged: texts('SELECT cpid FROM audit_mergelogs'),
      edges: texts(`SELECT source || ' > ' || cpid FROM audit_edges`),
      rejected: texts(`SELECT cpid FROM audit_rejected_mergelogs WHERE reason = 'closes_cycle'`),
    }
  })
}
