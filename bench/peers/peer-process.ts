import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from '../at-exit.ts'

const LONGEST_START_MS = 30_000
const ASK_AGAIN_MS = 25
/** Badger writes what it has in memory when it closes. */
const STOP_LIMIT_MS = 60_000

export interface PeerProcess {
  pid: number
  /** Ends it as an operator would; resolves once the process is gone. */
  stop: () => Promise<void>
}

/** Starts a program that reads `--config`; resolves once it listens on all of `ports`. */
export async function startPeer(
  program: string,
  config: { path: string; content: object },
  ports: readonly number[],
): Promise<PeerProcess> {
  writeFileSync(config.path, JSON.stringify(config.content))
  const child = spawn(program, ['--config', config.path], { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4_000)))
  const ended = once(child, 'exit')
  const lastResort = atExit(() => void child.kill('SIGKILL'))

  const deadline = performance.now() + LONGEST_START_MS
  for (const port of ports) {
    while (!(await listens(port))) {
      if (child.exitCode !== null || child.pid === undefined)
        throw new Error(`${program} did not start:\n${log}`)
      if (performance.now() > deadline) throw new Error(`${program} is not ready after 30 s:\n${log}`)
      await sleep(ASK_AGAIN_MS)
    }
  }
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
      await ended
      clearTimeout(timer)
      lastResort[Symbol.dispose]()
    },
  }
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
