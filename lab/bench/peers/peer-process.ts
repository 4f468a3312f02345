import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { startProcess, type StartedProcess } from '../../harness/processes/start-process.ts'

/** Badger writes what it has in memory when it closes. */
const STOP_LIMIT_MS = 60_000

/** Starts a program that reads `--config`; resolves once it listens on all of `ports`. */
export async function startPeer(
  program: string,
  config: { path: string; content: object },
  ports: readonly number[],
): Promise<StartedProcess> {
  writeFileSync(config.path, JSON.stringify(config.content))
  return startProcess({
    name: program,
    command: program,
    args: ['--config', config.path],
    isReady: async () => (await Promise.all(ports.map(listens))).every(Boolean),
    stopLimitMs: STOP_LIMIT_MS,
  })
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('error', () => resolve(false))
  socket.once('connect', () => {
    socket.destroy()
    resolve(true)
  })
  return promise
}
