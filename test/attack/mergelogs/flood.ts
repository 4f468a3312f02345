import { Agent, request } from 'node:http'
import type { CausewaySettings } from '../../../lab/harness/causeway/causeway-settings.ts'

export interface FloodRequest {
  signal: 'traces' | 'logs'
  bytes: Buffer
}

const AT_ONCE = 16

/** Sends requests over HTTP, many at once and without minding the answers, until there are no more or it is told to end. */
export async function flood(
  { ports }: CausewaySettings,
  requests: Iterable<FloodRequest>,
  over: AbortSignal,
): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const left = requests[Symbol.iterator]()
  const senders = Array.from({ length: AT_ONCE }, async () => {
    for (let next = left.next(); next.done !== true && !over.aborted; next = left.next())
      await send(agent, ports.http, next.value, over)
  })
  await Promise.all(senders)
  agent.destroy()
}

function send(agent: Agent, port: number, { signal, bytes }: FloodRequest, over: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const headers = { 'content-type': 'application/x-protobuf', 'content-length': bytes.length }
  const options = {
    host: '127.0.0.1',
    port,
    path: `/v1/${signal}`,
    method: 'POST',
    agent,
    headers,
    signal: over,
  }
  const asked = request(options, (response) => response.resume().on('close', () => resolve(undefined)))
  asked.on('error', () => resolve(undefined))
  asked.end(bytes)
  return promise
}
