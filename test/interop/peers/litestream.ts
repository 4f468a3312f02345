import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { installPeers } from '../../../lab/peers/install-peers.ts'
import type { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import type { Scene } from '../support/scene.ts'

const DOCUMENT = new URL('../../../docs/backup.md', import.meta.url)
const DATABASE = '/var/lib/causeway/causeway.db'
const CONFIG = 'litestream.yml'
const SETTINGS = /```yaml\n(dbs:[\s\S]*?)```/

/** Litestream as docs/backup.md has it, with a database and a replica of the scene's own. */
export class Litestream {
  readonly #scene: Scene
  readonly #program: string
  /** What stands in the document, and what stands for it here. */
  readonly #here: ReadonlyMap<string, string>

  private constructor(scene: Scene, program: string, here: ReadonlyMap<string, string>) {
    this.#scene = scene
    this.#program = program
    this.#here = here
  }

  static async of(scene: Scene, database: string): Promise<Litestream> {
    const { litestream } = await installPeers(['litestream'])
    const config = join(scene.directory, CONFIG)
    const here = new Map([
      [DATABASE, database],
      ['/mnt/replica/causeway', join(scene.directory, 'replica')],
      [CONFIG, config],
      ['tried.db', join(scene.directory, 'tried.db')],
    ])
    const [, settings = ''] = SETTINGS.exec(readFileSync(DOCUMENT, 'utf8')) ?? []
    await writeFile(config, inPlace(settings, here))
    return new Litestream(scene, litestream, here)
  }

  /** Starts a command of the document. */
  run(command: string): RunningProgram {
    if (!readFileSync(DOCUMENT, 'utf8').includes(`\n${command}\n`))
      throw new Error(`docs/backup.md does not have: ${command}`)
    const [, ...args] = inPlace(command, this.#here).split(' ')
    return this.#scene.start({ name: 'litestream', command: this.#program, args })
  }
}

function inPlace(text: string, here: ReadonlyMap<string, string>): string {
  return [...here].reduce((changed, [documented, path]) => changed.replaceAll(documented, path), text)
}
