import { fileURLToPath } from 'node:url'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { startCauseway, type CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { Cli } from '../cli/cli.ts'

const recorded = (source: string): string =>
  fileURLToPath(new URL(`../inference/recordings/rollout/${source}.jsonl.gz`, import.meta.url))

/** A real Causeway that has taken in what a cluster recorded of a rollout, in the namespace shop. */
export class RecordedCluster implements AsyncDisposable {
  /** Its query port, and where it takes OTLP over HTTP. */
  readonly url: string
  readonly otlp: string
  readonly #cli: Cli
  readonly #causeway: CausewayProcess

  private constructor(cli: Cli, causeway: CausewayProcess) {
    this.#cli = cli
    this.#causeway = causeway
    const { query, http } = causeway.settings.ports
    this.url = `http://127.0.0.1:${query}`
    this.otlp = `http://127.0.0.1:${http}`
  }

  static async up(): Promise<RecordedCluster> {
    const cli = new Cli()
    const kwok = ['--set', 'connectors::cpid::inference::controllers=[kwok]']
    const files = ['--audit', recorded('audit'), '--watch', recorded('watch')]
    await cli.json('import', '--cluster', 'test', ...kwok, ...files)
    const settings = await freshSettings({ connector: { retention: { max_age: '0s' } } })
    return new RecordedCluster(cli, await startCauseway({ ...settings, database: cli.path }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#causeway[Symbol.asyncDispose]()
    this.#cli[Symbol.dispose]()
  }
}
