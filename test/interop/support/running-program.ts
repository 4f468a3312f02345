import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export interface Program {
  /** What messages call it. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly directory: string
}

const SETPRIV = '/usr/bin/setpriv'
const LONGEST_STOP_MS = 15_000
const TOLD_LINES = 12
const TOLD_WIDTH = 300

/** A real process and all that it printed. It does not outlive the tests, even when those are killed. */
export class RunningProgram {
  readonly name: string
  readonly #child: ChildProcess
  readonly #printed: string[] = []
  readonly #complained: string[] = []
  readonly #ended: Promise<void>
  #end = ''

  constructor({ name, command, args, directory }: Program) {
    this.name = name
    const [file, fileArgs] = withParent(command, args)
    const child = spawn(file, fileArgs, {
      cwd: directory,
      env: withoutTelemetry(process.env),
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that what it started can be killed with it.
      detached: true,
    })
    this.#child = child
    eachLine(child.stdout, (line) => this.#printed.push(line))
    eachLine(child.stderr, (line) => this.#complained.push(line))
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#end = `did not start: ${error.message}`
        resolve()
      })
      child.once('close', (code, signal) => {
        this.#end = `ended with ${signal ?? `exit code ${code ?? '?'}`}`
        resolve()
      })
    })
  }

  get hasEnded(): boolean {
    return this.#end !== ''
  }

  /** Whether a line on its standard error has this in it. */
  said(text: string): boolean {
    return this.#complained.some((line) => line.includes(text))
  }

  /** Its standard output, once it has ended with exit code 0; throws otherwise. */
  async output(): Promise<string> {
    await this.#ended
    if (this.#child.exitCode !== 0) throw new Error(this.lastWords())
    return this.#printed.join('\n')
  }

  /** Asks it to end and returns its exit code; one that takes too long is killed and has none. */
  async stop(): Promise<number | null> {
    const limit = setTimeout(() => void this.kill(), LONGEST_STOP_MS)
    this.#child.kill('SIGTERM')
    await this.#ended
    clearTimeout(limit)
    return this.#child.exitCode
  }

  /** Kills it and what it started. */
  async kill(): Promise<void> {
    const { pid } = this.#child
    if (pid !== undefined && !this.hasEnded) killGroup(pid)
    await this.#ended
  }

  /** How it is and what it printed last, for messages. */
  lastWords(): string {
    const lines = [...this.#printed, ...this.#complained]
      .slice(-TOLD_LINES)
      .map((line) => line.slice(0, TOLD_WIDTH))
    return [`--- ${this.name} ${this.#end || 'is running'}; its last lines:`, ...lines].join('\n')
  }
}

/** On Linux the kernel ends the program together with this process, even on SIGKILL. */
function withParent(command: string, args: readonly string[]): [string, readonly string[]] {
  return existsSync(SETPRIV) ? [SETPRIV, ['--pdeathsig', 'KILL', command, ...args]] : [command, args]
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL')
  } catch (error) {
    // It ended just now.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What the machine's own telemetry is set to would change what is sent, and where. */
function withoutTelemetry(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('OTEL_')))
}

function eachLine(stream: Readable | null, take: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', take)
}
