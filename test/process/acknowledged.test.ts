import { expect, test } from '@jest/globals'
import { cpid, mergelogsRequest } from '../support/otlp-requests.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { askStored } from '../../lab/harness/causeway/stored-data.ts'

const ROUNDS = 50

leaveNothingBehind()

test('what is acknowledged is there for the next SELECT of anybody', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  for (let round = 1; round <= ROUNDS; round++) {
    const bytes = mergelogsRequest('controller', [
      { new: cpid(round), sources: round > 1 ? [cpid(round - 1)] : [] },
    ])
    if (round % 2 === 0) await sender.send({ signal: 'logs', bytes })
    else await postLogs(settings.ports.http, bytes)
    const seen = askStored(settings, (db) =>
      db
        .prepare<[string], { sources: number; edges: number }>(
          `SELECT source_count AS sources, (SELECT count(*) FROM audit_edges e WHERE e.cpid = m.cpid) AS edges
           FROM audit_mergelogs m WHERE m.cpid = ?`,
        )
        .get(cpid(round)),
    )
    expect(seen).toEqual(round > 1 ? { sources: 1, edges: 1 } : { sources: 0, edges: 0 })
  }
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

async function postLogs(port: number, bytes: Buffer): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf' },
    body: new Uint8Array(bytes),
  })
  expect(response.status).toBe(200)
  await response.arrayBuffer()
}
