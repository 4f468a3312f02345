import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { isatty } from 'node:tty'
import { CliError } from '../../src/cli/command-line.ts'

/** How a program ended. */
export interface ProgramEnd {
  /** The exit code; 128 plus the signal's number after a signal, as in shells. */
  readonly exitCode: number
  readonly signal: NodeJS.Signals | null
}

/** Variables that the launcher of Causeway sets; the program does not get them. */
const OURS = ['CAUSEWAY_PARENT', 'CAUSEWAY_LAUNCHER', 'NODE_COMPILE_CACHE']
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const
/** Signals that a terminal sends to its whole foreground process group. */
const OF_TERMINALS: ReadonlySet<string> = new Set(['SIGINT', 'SIGQUIT'])

/** The exit codes of shells for a program that is not there, and for one that cannot be run. */
const NOT_FOUND = 127
const NOT_RUNNABLE = 126

/**
 * Runs a program on the terminal and in the environment of this process, and forwards the signals that this process gets.
 * Rejects with a CliError when it cannot be started.
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<ProgramEnd> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>()
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !OURS.includes(name)))
  const child = spawn(command, args, { stdio: 'inherit', env: own })
  const handlers = SIGNALS.map((signal) => {
    // Ctrl-C in a terminal reaches the program directly, even if its input or output is a pipe.
    const hand = (): void => {
      if (!OF_TERMINALS.has(signal) || ![0, 1, 2].some((fd) => isatty(fd))) child.kill(signal)
    }
    if (process.platform !== 'win32' || signal !== 'SIGUSR2') process.on(signal, hand)
    return [signal, hand] as const
  })
  child.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    const isMissing = code === 'ENOENT'
    const advice = isMissing
      ? 'install it, or put it on the PATH'
      : 'name a program that you may run (chmod +x)'
    const said = `${command} cannot be started (${code ?? message}); ${advice}`
    reject(new CliError(said, isMissing ? NOT_FOUND : NOT_RUNNABLE))
  })
  child.on('exit', (code, signal) => {
    resolve({ exitCode: code ?? 128 + (signal === null ? 0 : constants.signals[signal]), signal })
  })
  try {
    return await promise
  } finally {
    for (const [signal, hand] of handlers) process.off(signal, hand)
  }
}
