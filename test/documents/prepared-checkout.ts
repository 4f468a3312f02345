import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePorts } from '../../lab/harness/free-ports.ts'
import { processesOfGroup } from '../../lab/harness/processes/process-table.ts'
import { ROOT } from './documented-commands.ts'

const OWN = new Set(['otel-config.yaml', 'data', 'dist', '.git'])
const LONGEST_START_MS = 60_000

/**
 * A checkout as its reader has it, of symbolic links, with the configuration of the documents on ports of its own; `npm
 * start` runs in it.
 */
export class PreparedCheckout implements AsyncDisposable {
  readonly folder: string
  /** Where /backup of the documents is. */
  readonly backups: string
  readonly #ports: ReadonlyMap<string, number>
  #started: ChildProcess | undefined

  private constructor(folder: string, ports: ReadonlyMap<string, number>) {
    this.folder = folder
    this.backups = join(folder, 'backup')
    this.#ports = ports
    mkdirSync(this.backups)
    for (const name of readdirSync(ROOT))
      if (!OWN.has(name)) symlinkSync(join(ROOT, name), join(folder, name))
    const readers = `readers: [{ pull: { exporter: { prometheus: { host: localhost, port: ${ports.get('8888') ?? 0} } } } }]`
    const config = readFileSync(join(ROOT, 'otel-config.yaml'), 'utf8')
    writeFileSync(
      join(folder, 'otel-config.yaml'),
      this.onOwnPorts(config).replace('metrics: { level: normal }', `metrics: { level: normal, ${readers} }`),
    )
  }

  static async make(): Promise<PreparedCheckout> {
    const documented = ['4317', '4318', '4319', '13133', '14317', '8888']
    const free = await freePorts(documented.length)
    const ports = new Map(documented.map((port, index) => [port, free[index] ?? 0]))
    return new PreparedCheckout(mkdtempSync(join(tmpdir(), 'causeway-documents-')), ports)
  }

  /** The ports of the documents replaced by those of this Causeway. */
  onOwnPorts(text: string): string {
    return text.replaceAll(/\blocalhost:(\d+)/g, (whole, port: string) => {
      const own = this.#ports.get(port)
      return own === undefined ? whole : `localhost:${own}`
    })
  }

  /** Runs `npm start`; resolves once Causeway is healthy. */
  async start(): Promise<void> {
    const child = spawn('npm', ['start'], {
      cwd: this.folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    })
    this.#started = child
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    await eventually(async () => {
      const answer = await fetch(this.onOwnPorts('http://localhost:13133')).catch(() => undefined)
      if (answer?.ok !== true) throw new Error(`Causeway is not healthy, having said:\n${said}`)
    }, LONGEST_START_MS)
  }

  /** Ends Causeway, as a system that shuts down does. */
  async stop(): Promise<void> {
    const { pid } = this.#started ?? {}
    if (pid === undefined || (await processesOfGroup(pid)).length === 0) return
    process.kill(-pid, 'SIGTERM')
    await eventually(async () => {
      const left = await processesOfGroup(pid)
      if (left.length > 0) throw new Error(`still there: ${JSON.stringify(left)}`)
    }, LONGEST_START_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#started ?? {}
    if (pid !== undefined && (await processesOfGroup(pid)).length > 0) {
      process.kill(-pid, 'SIGKILL')
      if (this.#started?.exitCode === null && this.#started.signalCode === null)
        await once(this.#started, 'exit')
    }
    rmSync(this.folder, { recursive: true, force: true })
  }
}
