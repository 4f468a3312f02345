import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Ending } from '../../lab/harness/processes/running-program.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { processesOfGroup } from '../../lab/harness/processes/process-table.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Half a minute of it is Causeway's patience with what it cannot send. */
const LONGEST_END_MS = 120_000

/** `npm run demo`, as somebody types it, on ports and with a database of its own. What it leaves is killed. */
export class DemoRun implements AsyncDisposable {
  readonly #home: string
  readonly #child: ChildProcess
  readonly #ending: Promise<Ending>
  #piped = ''

  private constructor(home: string, args: string[], output: 'pipe' | 'file') {
    this.#home = home
    const into = output === 'file' ? openSync(join(home, 'printed'), 'w') : 'pipe'
    this.#child = spawn('npm', ['run', 'demo', '--', ...args], {
      cwd: ROOT,
      env: { ...process.env, PATH: machinesPath() },
      stdio: ['ignore', into, into],
      // A process group of its own, in which all are that it starts.
      detached: true,
    })
    if (into !== 'pipe') closeSync(into)
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.#piped += text))
    }
    this.#ending = once(this.#child, output === 'pipe' ? 'close' : 'exit').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }))
  }

  static async start(output: 'pipe' | 'file', ...args: string[]): Promise<DemoRun> {
    const [grpc = 0, http = 0, query = 0, health = 0, metrics = 0] = await freePorts(5)
    const home = mkdtempSync(join(tmpdir(), 'causeway-demo-'))
    const readers = [{ pull: { exporter: { prometheus: { host: '127.0.0.1', port: metrics } } } }]
    const settings = {
      'receivers.otlp.protocols.grpc.endpoint': `127.0.0.1:${grpc}`,
      'receivers.otlp.protocols.http.endpoint': `127.0.0.1:${http}`,
      'extensions.health_check.endpoint': `127.0.0.1:${health}`,
      'service.telemetry.metrics.readers': JSON.stringify(readers),
      'connectors.cpid.storage.path': join(home, 'demo.db'),
    }
    const sets = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    return new DemoRun(home, [...args, '--query', `127.0.0.1:${query}`, ...sets], output)
  }

  /** The process group, and npm in it. */
  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error('npm could not be started')
    return pid
  }

  get printed(): string {
    return this.#piped === '' ? readIfThere(join(this.#home, 'printed')) : this.#piped
  }

  ending(): Promise<Ending> {
    return this.#ending
  }

  /** All that runs of it. */
  processes(): Promise<{ pid: number; args: string }[]> {
    return processesOfGroup(this.pid)
  }

  /** Resolves once nothing of it runs any more; rejects with what still does. */
  async untilGone(): Promise<void> {
    await eventually(async () => {
      const left = await this.processes()
      if (left.length > 0)
        throw new Error(`still there: ${JSON.stringify(left)}, having said:\n${this.printed}`)
    }, LONGEST_END_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ((await this.processes()).length > 0) process.kill(-this.pid, 'SIGKILL')
    await this.#ending
    rmSync(this.#home, { recursive: true, force: true })
  }
}

/** Without the folders that npm and bin/node.js put in front: with the machine's own Node. */
function machinesPath(): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.filter((folder) => !folder.startsWith(ROOT)).join(delimiter)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
