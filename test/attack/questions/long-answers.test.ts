import { expect, test } from '@jest/globals'
import { Agent, request } from 'node:http'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const ROWS = 8
const LARGE = 8_000_000
const FOR_MS = 8_000
const PATHS = [
  '/api/v1/spans',
  `/api/v1/cpids/${cpid(1)}/spans`,
  '/tempo/api/search?q=%7B.note%3D~%22.*b%22%7D',
]

leaveNothingBehind()

test.each([1, 30])('%i connections that ask for nothing but rows of 8 MB', async (connections) => {
  await using causeway = await AttackedCauseway.start({ limitMib: 800, mostTriesAgain: 20 })
  using sender = new GrpcSender(causeway.settings.ports.grpc)
  await sender.export('logs', mergelogsRequest('kubectl', [{ new: cpid(1) }]))
  for (let row = 1; row <= ROWS; row++) {
    const attributes = { note: 'a'.repeat(LARGE) }
    await sender.export('traces', spansRequest('large', [{ trace: row, id: row, cpid: cpid(1), attributes }]))
  }
  let begun = 0
  await causeway.withstands(
    async ({ ports }, signal) => {
      const agent = new Agent({ keepAlive: true, maxSockets: connections })
      const askers = Array.from({ length: connections }, async (_, at) => {
        for (let asked = at; !signal.aborted; asked++) {
          await read(ports.query, PATHS[asked % PATHS.length] ?? '/', agent, signal)
          begun++
        }
      })
      await Promise.all(askers)
      agent.destroy()
    },
    { what: `${connections} connections with long questions`, longestMs: FOR_MS },
  )
  expect(begun).toBeGreaterThanOrEqual(connections)
})

/** Resolves when the answer has been read, or is not waited for any more. */
function read(port: number, path: string, agent: Agent, signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const done = (): void => resolve(undefined)
  request({ host: '127.0.0.1', port, path, agent, signal }, (response) => {
    response.resume().on('end', done).on('error', done).on('close', done)
  })
    .on('error', done)
    .end()
  return promise
}
