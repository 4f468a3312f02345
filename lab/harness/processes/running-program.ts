import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'

export interface Program {
  /** What messages call it. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  /** Where it is started; here unless given. */
  readonly directory?: string | undefined
  readonly env?: NodeJS.ProcessEnv
}

/** How a process ended. */
export interface Ending {
  code: number | null
  signal: NodeJS.Signals | null
}

const SETPRIV = '/usr/bin/setpriv'
const LONGEST_END_MS = 60_000
const TOLD_LINES = 20
const TOLD_WIDTH = 1_000

/** A real process and all that it printed. It does not outlive this one, even when that is killed. */
export class RunningProgram implements AsyncDisposable {
  readonly name: string
  readonly #child: ChildProcess
  /** It is gone; what it wrote may still be on its way, or held open by a process it left behind. */
  readonly #exit: Promise<Ending>
  readonly #ending: Promise<Ending>
  #ended: Ending | undefined
  #neverStarted: Error | undefined
  #printed = ''
  #errors = ''

  constructor({ name, command, args, directory, env = process.env }: Program) {
    this.name = name
    const [file, fileArgs] = withParent(command, args)
    const child = spawn(file, fileArgs, {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that what it started can be killed with it.
      detached: true,
    })
    this.#child = child
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#printed += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text))
    child.once('error', (error) => (this.#neverStarted = error))
    this.#exit = this.#ends('exit').then((ending) => (this.#ended = ending))
    this.#ending = this.#ends('close').then(() => this.#exit)
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error(this.lastWords())
    return pid
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** What it has written to its standard error. */
  get errors(): string {
    return this.#errors
  }

  /** What it has written to its standard output. */
  get printed(): string {
    return this.#printed
  }

  /** Whether it wrote this to its standard error, within a line. */
  said(text: string): boolean {
    return this.#errors.includes(text)
  }

  /** Its standard output, once it has ended with exit code 0; throws otherwise. */
  async output(): Promise<string> {
    const { code } = await this.#ending
    if (code !== 0) throw new Error(this.lastWords())
    return this.#printed
  }

  /** Sends it a signal and resolves when it has ended; rejects when that takes too long. */
  async end(signal: NodeJS.Signals): Promise<Ending> {
    this.#child.kill(signal)
    return signal === 'SIGKILL' ? this.#within(LONGEST_END_MS, this.#exit) : this.ending()
  }

  /** Resolves when it has ended and said all; rejects when that takes too long. */
  ending(longestMs = LONGEST_END_MS): Promise<Ending> {
    return this.#within(longestMs, this.#ending)
  }

  /** Asks it to end and returns its exit code; one that takes too long is killed and has none. */
  async stop(longestMs = LONGEST_END_MS): Promise<number | null> {
    const limit = setTimeout(() => killGroup(this.#child.pid), longestMs)
    this.#child.kill('SIGTERM')
    const { code } = await this.#ending
    clearTimeout(limit)
    return code
  }

  /** Kills it and what it started. */
  async kill(): Promise<void> {
    if (!this.hasEnded) killGroup(this.#child.pid)
    await this.#exit
  }

  /** How it is and what it printed last, for messages. */
  lastWords(): string {
    const lines = [this.#printed, this.#errors].flatMap((text) => text.trimEnd().split('\n'))
    const last = lines.slice(-TOLD_LINES).map((line) => line.slice(0, TOLD_WIDTH))
    return [`--- ${this.name} ${this.#state}; its last lines:`, ...last].join('\n')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }

  get #state(): string {
    if (this.#neverStarted !== undefined) return `did not start: ${this.#neverStarted.message}`
    if (this.#ended === undefined) return 'is running'
    return `ended with ${this.#ended.signal ?? `exit code ${this.#ended.code ?? '?'}`}`
  }

  async #ends(event: 'exit' | 'close'): Promise<Ending> {
    try {
      const [code, signal] = (await once(this.#child, event)) as [number | null, NodeJS.Signals | null]
      return { code, signal }
    } catch {
      return { code: null, signal: null }
    }
  }

  async #within(longestMs: number, ending: Promise<Ending>): Promise<Ending> {
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      late.reject(new Error(`it has not ended within ${longestMs} ms:\n${this.lastWords()}`))
    }, longestMs)
    try {
      return await Promise.race([ending, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** On Linux the kernel ends the program together with this process, even on SIGKILL. */
function withParent(command: string, args: readonly string[]): [string, readonly string[]] {
  return existsSync(SETPRIV) ? [SETPRIV, ['--pdeathsig', 'KILL', command, ...args]] : [command, args]
}

/** Kills a process and all that it started, if it leads their group. */
export function killGroup(leader: number | undefined): void {
  if (leader === undefined) return
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // It ended just now.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
