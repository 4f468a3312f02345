import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { peersDirectory } from './install-peers.ts'

const CHDB_VERSION = '3.4.0'

/**
 * Installs ClickHouse's own engine as an npm package where the peers are, unless it is there; returns its folder of modules. It is none of
 * Causeway's own packages: 500 MB. Rejects where it cannot be installed, such as on a machine for which it is not built.
 */
export async function installChdb(): Promise<string> {
  const cache = peersDirectory(process.env)
  const home = join(cache, `chdb-${CHDB_VERSION}`)
  if (await isThere(home)) return home
  await mkdir(cache, { recursive: true })
  const scratch = await mkdtemp(join(cache, '.installing-chdb-'))
  try {
    await writeFile(join(scratch, 'package.json'), JSON.stringify({ private: true }))
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    await promisify(execFile)('npm', ['install', ...quietly, `chdb@${CHDB_VERSION}`], { cwd: scratch })
    await rename(scratch, home).catch(async (error: unknown) => {
      if (!(await isThere(home))) throw error
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return home
}

async function isThere(home: string): Promise<boolean> {
  return access(join(home, 'node_modules/chdb/package.json')).then(
    () => true,
    () => false,
  )
}
