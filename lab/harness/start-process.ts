import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from './at-exit.ts'

const LONGEST_START_MS = 30_000
const ASK_AGAIN_MS = 25

export interface StartedProcess {
  pid: number
  /** Ends it as an operator would; resolves once the process is gone. */
  stop: () => Promise<void>
}

/** A program that is to be measured. */
export interface ProcessToStart {
  /** What messages call it. */
  name: string
  program: string
  args: readonly string[]
  isReady: () => Promise<boolean>
  /** How long it may take to end before it is killed. */
  stopLimitMs: number
}

/** Resolves once the program is ready; throws an Error with the end of its log when it is not. */
export async function startProcess({
  name,
  program,
  args,
  isReady,
  stopLimitMs,
}: ProcessToStart): Promise<StartedProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4_000)))
  const ended = once(child, 'exit')
  const lastResort = atExit(() => void child.kill('SIGKILL'))

  const deadline = performance.now() + LONGEST_START_MS
  while (!(await isReady())) {
    if (child.exitCode !== null || child.pid === undefined) throw new Error(`${name} did not start:\n${log}`)
    if (performance.now() > deadline) throw new Error(`${name} is not ready after 30 s:\n${log}`)
    await sleep(ASK_AGAIN_MS)
  }
  return {
    pid: child.pid ?? 0,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs)
      await ended
      clearTimeout(timer)
      lastResort[Symbol.dispose]()
    },
  }
}
