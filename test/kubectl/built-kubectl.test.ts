import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { RunningProgram } from '../../lab/harness/processes/running-program.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const SOURCE = 'packages/kubectl/forward-write.ts'

/** A Causeway in a folder of its own, whose built files say when they are run. */
class Installed implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'causeway-built-test-'))

  constructor() {
    for (const path of ['bin', 'src', 'migrations', 'packages/kubectl', 'dist/kubectl', 'package.json'])
      cpSync(join(ROOT, path), join(this.#root, path), { recursive: true, preserveTimestamps: true })
    symlinkSync(join(ROOT, 'node_modules'), this.path('node_modules'))
    appendFileSync(this.path('dist/kubectl/kubectl-main.cjs'), "\nprocess.stderr.write('built')\n")
  }

  path(file: string): string {
    return join(this.#root, file)
  }

  /** Whether `causeway kubectl` is what was built. */
  async isBuilt(): Promise<boolean> {
    await using program = new RunningProgram({
      name: 'causeway kubectl',
      command: process.execPath,
      args: [this.path('bin/causeway.js'), 'kubectl', '--version'],
      env: { ...process.env, NODE_COMPILE_CACHE: this.path('cache') },
    })
    expect(await program.output()).toMatch(/^causeway version \d/)
    return program.errors.includes('built')
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true })
  }
}

test('what was built of these sources is run, and of what was copied too, where the files have other times', async () => {
  using installed = new Installed()
  expect(await installed.isBuilt()).toBe(true)
  utimesSync(installed.path(SOURCE), 0, 0)
  expect(await installed.isBuilt()).toBe(true)
})

test.each<[string, (installed: Installed) => void]>([
  ['has changed', (installed) => appendFileSync(installed.path(SOURCE), '\n// More.\n')],
  ['is gone', (installed) => rmSync(installed.path('packages/kubectl/told-change.ts'))],
  ['is of other versions', (installed) => appendFileSync(installed.path('package.json'), '\n')],
])('what was built of a source that %s is not run', async (_, change) => {
  using installed = new Installed()
  change(installed)
  expect(await installed.isBuilt()).toBe(false)
})

test('without anything built the sources are run, and with half of it', async () => {
  using installed = new Installed()
  rmSync(installed.path('dist/kubectl/sources.json'))
  expect(await installed.isBuilt()).toBe(false)
  rmSync(installed.path('dist'), { recursive: true })
  expect(await installed.isBuilt()).toBe(false)
})
