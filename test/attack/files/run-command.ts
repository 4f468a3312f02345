import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { Vitals } from '../vitals.ts'

const MIB = 2 ** 20
/** What a command may take: some hundred times the four MiB that it reads at most. */
const MOST_MEMORY = 600 * MIB
/** Only what hangs takes so long, on any machine. */
const LONGEST_MS = 90_000
const MOST_COMPLAINT = 20_000
const LOOK_AGAIN_MS = 10

/** What a command came to. */
interface CommandRun {
  code: number | null
  stdout: string
  stderr: string
}

/** A folder for what is given to a command, and the command itself, which ends by itself and within bounds. */
export class CommandFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'causeway-files-'))

  /** Writes a file and returns its path. */
  file(name: string, content: string | Buffer): string {
    const path = join(this.path, name)
    writeFileSync(path, content)
    return path
  }

  /** Runs Causeway; whatever it is given it ends, says little, shows no stack and takes no more memory than it may. */
  async run(what: string, args: readonly string[], mostMemory = MOST_MEMORY): Promise<CommandRun> {
    await using program = new RunningProgram({
      name: what,
      command: process.execPath,
      args: [BIN, ...args],
      directory: this.path,
    })
    const startedMs = performance.now()
    using vitals = new Vitals(program.pid)
    // The machine is others' as well.
    const guard = setInterval(() => {
      if (vitals.memoryBytes > mostMemory) void program.kill()
    }, LOOK_AGAIN_MS)
    using atEnd = new DisposableStack()
    atEnd.defer(() => clearInterval(guard))
    const { code } = await program.ending(LONGEST_MS)
    const tookMs = Math.round(performance.now() - startedMs)
    process.stderr.write(`${what}: ended with ${String(code)} after ${tookMs} ms; ${vitals.summary}\n`)
    const { printed: stdout, errors: stderr } = program
    expect({ what, stack: /^\s+at .*:\d+:\d+/m.exec(stderr)?.[0] }).toEqual({ what, stack: undefined })
    expect(stdout.length + stderr.length).toBeLessThan(MOST_COMPLAINT)
    expect(vitals.memoryBytes).toBeLessThan(mostMemory)
    return { code, stdout, stderr }
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
