import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, jest } from '@jest/globals'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { argumentsFor, type CausewaySettings } from './causeway-settings.ts'
import { eventually } from './eventually.ts'
import { processesWith } from './process-table.ts'

export const BIN = fileURLToPath(new URL('../../../bin/causeway.js', import.meta.url))
const LONGEST_START_MS = 75_000
const LONGEST_END_MS = 20_000
/** Whatever a test waits for gives up before this, so that the test itself says what was missing. */
const LONGEST_TEST_MS = 180_000

/** How a process ended. */
export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

const homes = new Set<string>()
const running = new Set<CausewayProcess>()

/** A real Causeway. It is killed when disposed of, unless it has ended before. */
export class CausewayProcess implements AsyncDisposable {
  readonly settings: CausewaySettings
  readonly startedMs = performance.now()
  readonly #child: ChildProcess
  /** It is gone; what it wrote may still be on its way, or held open by a process it left behind. */
  readonly #exit: Promise<Ending>
  readonly #ending: Promise<Ending>
  #ended: Ending | undefined
  #errors = ''

  /** `through` is a command that ends with starting the command that follows it, such as setpriv. */
  constructor(settings: CausewaySettings, node = process.execPath, through: readonly string[] = []) {
    this.settings = settings
    homes.add(settings.home)
    // The code of earlier starts, compiled: it halves the time that a start takes.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') }
    const [command = node, ...words] = [...through, node, BIN, ...argumentsFor(settings)]
    this.#child = spawn(command, words, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    running.add(this)
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errors += text))
    this.#exit = once(this.#child, 'exit').then((args) =>
      this.#noteEnd(args as [number | null, NodeJS.Signals | null]),
    )
    this.#ending = once(this.#child, 'close').then(() => this.#exit)
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error('the process never started')
    return pid
  }

  /** What it has written to its standard error. */
  get errors(): string {
    return this.#errors
  }

  /** What it has written to its standard error beside its log. */
  get complaints(): string[] {
    return this.#errors.split('\n').filter((line) => line !== '' && !/^\d{4}-\d\d-\d\dT\S+\t\w+\t/.test(line))
  }

  /** Resolves once the health check answers 200. */
  async ready(): Promise<void> {
    let asked = 0
    await eventually(async () => {
      if (this.#ended === undefined && !(await isHealthy(this.settings))) {
        throw new Error(`not healthy, asked ${++asked} times:\n${this.#errors}`)
      }
    }, LONGEST_START_MS)
    if (this.#ended !== undefined) throw new Error(`it ended by itself:\n${this.#errors}`)
  }

  /** Sends it a signal and resolves when it has ended. */
  async end(signal: NodeJS.Signals): Promise<Ending> {
    this.#child.kill(signal)
    return signal === 'SIGKILL' ? this.#within(LONGEST_END_MS, this.#exit) : this.ending()
  }

  /** Resolves when it has ended and said all; rejects when that takes too long. */
  ending(longestMs = LONGEST_END_MS): Promise<Ending> {
    return this.#within(longestMs, this.#ending)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended === undefined) await this.end('SIGKILL')
  }

  async #within(longestMs: number, ending: Promise<Ending>): Promise<Ending> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      late.reject(new Error(`it has not ended within ${longestMs} ms:\n${this.#errors}`))
    }, longestMs)
    try {
      return await Promise.race([ending, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  #noteEnd([code, signal]: [number | null, NodeJS.Signals | null]): Ending {
    this.#ended = { code, signal }
    running.delete(this)
    return this.#ended
  }
}

/** Starts Causeway and resolves once it is healthy. */
export async function startCauseway(settings: CausewaySettings, node?: string): Promise<CausewayProcess> {
  const causeway = new CausewayProcess(settings, node)
  await causeway.ready()
  return causeway
}

/** Has every test of a file end what it starts; a test that does not fails, and what it left is ended for it. */
export function leaveNothingBehind(): void {
  jest.setTimeout(LONGEST_TEST_MS)
  afterEach(leaveNothing)
}

async function leaveNothing(): Promise<void> {
  const left = [...running]
  for (const causeway of left) await causeway.end('SIGKILL')
  const logs = left.map((causeway) => causeway.errors).join('\n')
  const strays: number[] = []
  for (const home of homes) strays.push(...(await processesWith(home)))
  for (const pid of strays) killAtOnce(pid)
  for (const home of homes) rmSync(home, { recursive: true, force: true })
  homes.clear()
  if (left.length > 0) throw new Error(`the test left ${left.length} running, which said:\n${logs}`)
  if (strays.length > 0) throw new Error(`processes ${strays.join(', ')} outlived their Causeway`)
}

function killAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended since.
  }
}

async function isHealthy({ ports }: CausewaySettings): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${ports.health}/`)
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}
