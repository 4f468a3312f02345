import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Below the ports that systems hand out to outgoing connections, so that one stays free while nobody listens on it. */
const LOWEST = 20_000
const HIGHEST = 31_999

let next = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))

/** Ports on 127.0.0.1 on which nothing listens; this process does not hand them out again for a long while. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    next = next >= HIGHEST ? LOWEST : next + 1
    const port = next
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** Listens on a port and does nothing, as a program would that was there first. */
export async function occupy(port: number): Promise<AsyncDisposable & { port: number }> {
  const server = createServer()
  server.listen({ host: '127.0.0.1', port, exclusive: true })
  await once(server, 'listening')
  return { port, [Symbol.asyncDispose]: () => close(server) }
}

async function isFree(port: number): Promise<boolean> {
  try {
    const held = await occupy(port)
    await held[Symbol.asyncDispose]()
    return true
  } catch {
    return false
  }
}

async function close(server: Server): Promise<void> {
  server.close()
  await once(server, 'close')
}
