import { execFile } from 'node:child_process'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installClient } from '../../peers/install-client.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * A folder as a controller's author has it: a sample, the library as it is packed, the client, the newest unless given, and the packages
 * of OpenTelemetry.
 */
export async function operatorFolder(
  directory: string,
  sample = 'operator',
  client?: string,
): Promise<string> {
  const folder = join(directory, sample)
  const modules = join(folder, 'node_modules')
  await cp(join(ROOT, 'examples', sample), folder, { recursive: true })
  await cp(await installClient(client), modules, { recursive: true, verbatimSymlinks: true })
  for (const name of ['@opentelemetry', 'typescript'])
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  const pack = [join(ROOT, 'scripts/pack-instrumentation.ts'), directory]
  const { stdout } = await run(process.execPath, pack, { cwd: ROOT })
  const library = join(modules, 'causeway-instrumentation')
  await mkdir(library)
  await run('tar', ['xzf', stdout.trim(), '-C', library, '--strip-components=1'])
  return folder
}
