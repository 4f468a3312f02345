import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { peersDirectory } from './install-peers.ts'

/** The newest release, which the sample operator is run with; its requests go by undici, which needs Node 22.19. */
export const CLIENT_VERSION = '2.0.1'
/** The newest that runs with Node 20. */
export const OLDER_CLIENT_VERSION = '1.4.0'

/**
 * Installs `@kubernetes/client-node` where the peers are, unless it is there; returns the folder of its `node_modules`. It is none of
 * Causeway's own packages: 83 MB that `npm ci` need not bring.
 */
export async function installClient(version = CLIENT_VERSION): Promise<string> {
  const cache = peersDirectory(process.env)
  const home = join(cache, `client-node-${version}`)
  if (await isThere(home)) return join(home, 'node_modules')
  await mkdir(cache, { recursive: true })
  const scratch = await mkdtemp(join(cache, '.installing-client-node-'))
  try {
    await writeFile(join(scratch, 'package.json'), JSON.stringify({ private: true }))
    const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent']
    const args = ['install', ...quietly, `@kubernetes/client-node@${version}`]
    await promisify(execFile)('npm', args, { cwd: scratch })
    await rename(scratch, home).catch(async (error: unknown) => {
      if (!(await isThere(home))) throw error
    })
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  return join(home, 'node_modules')
}

async function isThere(home: string): Promise<boolean> {
  return access(join(home, 'node_modules/@kubernetes/client-node/package.json')).then(
    () => true,
    () => false,
  )
}
