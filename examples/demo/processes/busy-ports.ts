import { lookup } from 'node:dns/promises'
import { createServer, createConnection } from 'node:net'
import type { Endpoint } from '../../../src/config/value-kinds.ts'

const LONGEST_CONNECT_MS = 3_000

/** Throws an Error that names every address that another program holds, and how to choose others. */
export async function refuseBusyPorts(wanted: { setting: string; listener: Endpoint }[]): Promise<void> {
  const checks = wanted.map(async (one) => ((await isFree(one.listener)) ? [] : [one]))
  const busy = (await Promise.all(checks)).flat()
  if (busy.length === 0) return
  const ports = busy.map(({ listener }) => listener.port).join(', ')
  const settings = busy.map(({ setting }) => setting).join(', ')
  throw new Error(
    `Another program listens on port${busy.length === 1 ? '' : 's'} ${ports}; stop it, choose other ports with --set ` +
      `(${settings}), or use a Causeway that is already running with --endpoint`,
  )
}

/** Throws an Error when nothing listens at `host:port`. */
export async function refuseSilence(endpoint: string, flag: string): Promise<void> {
  if (await isListening(endpoint)) return
  throw new Error(`Nothing listens on ${endpoint} (${flag}); start Causeway or a Collector there first`)
}

/** Whether something takes a connection at `host:port`. */
export async function isListening(endpoint: string): Promise<boolean> {
  const { hostname, port } = new URL(`http://${endpoint}`)
  const socket = createConnection({ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port || 80) })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.setTimeout(LONGEST_CONNECT_MS, () => resolve(false))
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}

/** Only an address in use counts; what else keeps Causeway from listening it says better itself. */
async function isFree({ host, port }: Endpoint): Promise<boolean> {
  const { address } = await lookup(host, { order: 'ipv4first' })
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'EADDRINUSE'))
  server.listen({ host: address, port, exclusive: true }, () => server.close(() => resolve(true)))
  return promise
}
