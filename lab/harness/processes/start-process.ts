import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from '../at-exit.ts'
import { RunningProgram, type Program } from './running-program.ts'

const LONGEST_START_MS = 30_000
const ASK_AGAIN_MS = 25

export interface StartedProcess {
  pid: number
  /** Ends it as an operator would; resolves once the process is gone. */
  stop: () => Promise<void>
}

/** A program that is to be measured. */
interface ProcessToStart extends Program {
  isReady: () => Promise<boolean>
  /** How long it may take to end before it is killed. */
  stopLimitMs: number
}

/** Resolves once the program is ready; throws an Error with the end of its log when it is not. */
export async function startProcess({
  isReady,
  stopLimitMs,
  ...program
}: ProcessToStart): Promise<StartedProcess> {
  const running = new RunningProgram(program)
  const lastResort = atExit(() => void running.kill())
  const deadline = performance.now() + LONGEST_START_MS
  while (!(await isReady())) {
    if (running.hasEnded || performance.now() > deadline)
      throw new Error(`${program.name} did not start:\n${running.lastWords()}`)
    await sleep(ASK_AGAIN_MS)
  }
  return {
    pid: running.pid,
    async stop() {
      await running.stop(stopLimitMs)
      lastResort[Symbol.dispose]()
    },
  }
}
