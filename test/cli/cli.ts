import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCli } from '../../src/cli/commands.ts'
import type { CausewayConfig } from '../../src/config/causeway-config.ts'

/** What a command line came to. */
export interface Ran {
  code: number
  stdout: string
  stderr: string
}

/** A folder with a configuration and room for its database, and the command line over it. */
export class Cli implements Disposable {
  readonly path: string
  readonly config: string
  /** The configurations Causeway was run with. */
  readonly runs: CausewayConfig[] = []
  /** What stands on the standard input, how wide the terminal is, and the environment. */
  input = ''
  terminalWidth: number | undefined
  env: Record<string, string> = {}
  nowMs = 0
  /** What a Causeway does that is started. */
  whenRun: (config: CausewayConfig) => Promise<number> = () => Promise.resolve(42)
  readonly #folder: string

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'causeway-cli-'))
    this.path = join(this.#folder, 'data', 'causeway.db')
    this.config = join(this.#folder, 'otel-config.yaml')
    writeFileSync(
      this.config,
      `receivers: { otlp: { protocols: { grpc: } } }
connectors: { cpid: { storage: { path: ${this.path} } } }
service: { pipelines: { traces/in: { receivers: [otlp], exporters: [cpid] } } }
`,
    )
  }

  /** Runs with the configuration given after the arguments. */
  run(...argv: string[]): Promise<Ran> {
    return this.runBare(...argv, '--config', this.config)
  }

  async runBare(...argv: string[]): Promise<Ran> {
    let stdout = ''
    let stderr = ''
    const code = await runCli(argv, {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      readInput: () => Promise.resolve(this.input),
      terminalWidth: this.terminalWidth,
      env: this.env,
      nowMs: () => this.nowMs,
      run: ({ config }) => {
        this.runs.push(config)
        return this.whenRun(config)
      },
    })
    return { code, stdout, stderr }
  }

  /** The JSON that a command prints. */
  async json(...argv: string[]): Promise<unknown> {
    const { code, stdout, stderr } = await this.run(...argv, '--format', 'json')
    if (code !== 0 || stderr !== '') throw new Error(stderr)
    return JSON.parse(stdout)
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true })
  }
}
