import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { obeyOrders } from './obey-orders.ts'

/** What a process of askers is told, and what it answers. */
export interface AskOrder {
  kind: 'ask'
  /** Where the query API is, as host:port. */
  query: string
  /** Asked round and round. */
  paths: readonly string[]
  /** So many questions a second, each when it is due; as fast as they are answered without it. */
  perSecond?: number
  connections: number
  /** Where the connections come from; the address that the system chooses unless given. */
  from?: string
  forMs: number
}

export interface AskReport {
  kind: 'asked'
  answered: number
  /** Refused for now. */
  refused: number
  /** Any other answer, or none. */
  failed: number
  bytes: number
  /** From when a question was due until its answer had been read, in order of size. */
  latenciesMs: number[]
}

export type FromAskers = { kind: 'ready' } | AskReport | { kind: 'failed'; reason: string }

const LONGEST_MS = 60_000
const REST_MS = 100

async function ask(order: AskOrder): Promise<AskReport> {
  const report: AskReport = { kind: 'asked', answered: 0, refused: 0, failed: 0, bytes: 0, latenciesMs: [] }
  const endMs = performance.now() + order.forMs
  const agent = new Agent({
    keepAlive: true,
    maxSockets: order.connections,
    ...(order.from !== undefined && { localAddress: order.from }),
  })
  let next = 0
  const one = async (over: AbortSignal): Promise<void> => {
    const path = order.paths[next++ % order.paths.length] ?? '/'
    const dueMs = performance.now()
    const outcome = await exchange(order.query, path, agent, over, report)
    report[outcome]++
    if (outcome === 'answered') report.latenciesMs.push(performance.now() - dueMs)
    if (outcome !== 'answered' && order.perSecond === undefined) await pause(REST_MS)
  }
  if (order.perSecond === undefined) {
    // Whoever asks as fast as it can hangs up at the end: what it asked may take minutes.
    const over = AbortSignal.timeout(order.forMs)
    const loops = Array.from({ length: order.connections }, async () => {
      while (performance.now() < endMs) await one(over)
    })
    await Promise.all(loops)
  } else {
    const everyMs = 1000 / order.perSecond
    const asked: Promise<void>[] = []
    for (let dueMs = performance.now(); dueMs < endMs; dueMs += everyMs) {
      const early = dueMs - performance.now()
      if (early > 0) await pause(early)
      asked.push(one(AbortSignal.timeout(LONGEST_MS)))
    }
    await Promise.all(asked)
  }
  agent.destroy()
  report.latenciesMs.sort((a, b) => a - b)
  return report
}

function exchange(
  query: string,
  path: string,
  agent: Agent,
  signal: AbortSignal,
  report: AskReport,
): Promise<'answered' | 'refused' | 'failed'> {
  const { promise, resolve } = Promise.withResolvers<'answered' | 'refused' | 'failed'>()
  request(`http://${query}${path}`, { agent, signal }, (response) => {
    response.on('data', (chunk: Buffer) => (report.bytes += chunk.length))
    response.on('error', () => resolve('failed'))
    response.on('end', () => {
      const { statusCode = 0 } = response
      if (statusCode === 200) resolve('answered')
      else resolve(statusCode === 503 ? 'refused' : 'failed')
    })
  })
    .on('error', () => resolve('failed'))
    .end()
  return promise
}

obeyOrders(ask)
