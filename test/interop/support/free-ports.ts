import { createServer } from 'node:net'

/** Below the ports that systems give to outgoing connections, so that none of those comes in between. */
const LOWEST = 20_000
const HIGHEST = 31_999

let next = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST))

/** Ports on 127.0.0.1 that nobody listens on; this process does not hand them out again for a long while. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    next = next >= HIGHEST ? LOWEST : next + 1
    if (await isFree(next)) ports.push(next)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', () => resolve(false))
  server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)))
  return promise
}
