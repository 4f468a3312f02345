import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { killGroup } from '../harness/processes/running-program.ts'
import { oldestGo } from './peer-versions.ts'

const tailLines = 15

/** Reports that a peer could not be installed; the message ends with what to do next. */
export class PeerInstallError extends Error {
  override readonly name = 'PeerInstallError'
}

export type GoRun = {
  readonly directory: string
  /** Where `go install` puts programs. */
  readonly bin: string
  /** What is being done, for messages: "building jaeger v1.76.0". */
  readonly purpose: string
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Ends it and all that it started; it rejects with the signal's reason then. */
  readonly signal?: AbortSignal | undefined
  /** Told of every package that is built and every module that is fetched, as `go` names them. */
  readonly onStep?: ((step: string) => void) | undefined
}

/** Runs one `go` command to its end and returns what it wrote on its standard output. */
export async function runGo(args: readonly string[], run: GoRun): Promise<string> {
  let standardOutput = ''
  const output = new OutputTail(tailLines)
  run.signal?.throwIfAborted()
  // What go leaves when it is killed goes with the directory.
  const scratch = await mkdtemp(join(run.directory, '.go-'))
  const exit = await new Promise<string>((resolve, reject) => {
    const child = spawn('go', args, {
      cwd: run.directory,
      // No workspace or C compiler of the machine's may change what is built.
      env: {
        ...process.env,
        ...run.env,
        ...{ CGO_ENABLED: '0', GOBIN: run.bin, GOWORK: 'off', GOTMPDIR: scratch },
        // It names each package when it is built.
        GOFLAGS: [run.env?.['GOFLAGS'] ?? process.env['GOFLAGS'], '-v'].filter(Boolean).join(' '),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A process group of its own, so that the compilers can be ended with it.
      detached: true,
    })
    const kill = (): void => killGroup(child.pid)
    run.signal?.addEventListener('abort', kill)
    child.once('close', () => run.signal?.removeEventListener('abort', kill))
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => output.add(text))
    }
    child.stdout.on('data', (text: string) => {
      standardOutput += text
    })
    createInterface(child.stderr).on('line', (line) => run.onStep?.(line))
    child.on('error', reject)
    child.on('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`))
  }).catch((error: unknown) => {
    throw cannotStart(run, error)
  })
  run.signal?.throwIfAborted()
  if (exit !== 'exit code 0') throw new PeerInstallError(failure(args, run, exit, output))
  return standardOutput
}

function cannotStart(run: GoRun, error: unknown): PeerInstallError {
  const reason =
    error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? 'no program "go" on the PATH'
      : String(error)
  return new PeerInstallError(
    `${run.purpose} needs the Go toolchain: ${reason}. ` +
      `Install Go ${oldestGo} or later, see that "go version" answers, and run this again.`,
    { cause: error },
  )
}

function failure(args: readonly string[], run: GoRun, exit: string, output: OutputTail): string {
  return [
    `${run.purpose} failed: "go ${args.join(' ')}" ended with ${exit}. Its last lines:`,
    ...output.lines().map((line) => `  ${line}`),
    `Check that "go version" says ${oldestGo} or later, that the Go module proxy answers ("go env GOPROXY"), and that`,
    'there are some gigabytes free for "go env GOCACHE GOMODCACHE"; then run this again. Finished peers are kept.',
  ].join('\n')
}

class OutputTail {
  #text = ''
  readonly #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  add(text: string): void {
    this.#text = (this.#text + text)
      .split('\n')
      .slice(-this.#limit - 1)
      .join('\n')
  }

  lines(): readonly string[] {
    return this.#text.trimEnd().split('\n')
  }
}
