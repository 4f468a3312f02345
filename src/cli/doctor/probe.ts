import { connect, createServer } from 'node:net'
import { ownValue } from '../../model/own-value.ts'

const LONGEST_MS = 3_000
const EVERY_ADDRESS: Readonly<Record<string, string>> = {
  '0.0.0.0': '127.0.0.1',
  '::': '::1',
  '': '127.0.0.1',
}

/** Whether something takes connections there: undefined when it does, or the code of the error, such as ECONNREFUSED. */
export function connectionError(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const socket = connect({ host: ownValue(EVERY_ADDRESS, host) ?? host, port, timeout: LONGEST_MS })
  socket.once('connect', () => resolve(undefined))
  socket.once('timeout', () => resolve('ETIMEDOUT'))
  socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  return promise.finally(() => socket.destroy())
}

/** Whether this process could listen there: undefined when it could, or the code of the error, such as EACCES. */
export function listenError(host: string, port: number): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const server = createServer()
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
  server.listen({ host, port }, () => server.close(() => resolve(undefined)))
  return promise
}

/** The HTTP status of a page; undefined when there is no answer in time. */
export async function httpStatus(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_MS) })
    await response.body?.cancel()
    return response.status
  } catch {
    return undefined
  }
}
