import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serializedEmpty } from './serialized-empty.ts'

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/causeway-tests/', import.meta.url))

/** The large suites may need programs that not every machine has; npm test runs with git and Node alone. */
const IS_FOR_ANY_MACHINE = ['FAULTS', 'ATTACK', 'BROWSER', 'INTEROP', 'SQLITE_SHELL'].every(
  (suite) => process.env[`CAUSEWAY_${suite}`] === undefined,
)

export default async function beforeAll() {
  build()
  if (IS_FOR_ANY_MACHINE && process.platform !== 'win32') process.env.PATH = barePath(process.env.PATH ?? '')
  process.env.CAUSEWAY_MIGRATED = await keepMigrated()
}

/** Builds the dashboard and causeway kubectl before the tests where they are missing or of other sources. */
function build() {
  const script = fileURLToPath(new URL('../../scripts/build-dashboard.ts', import.meta.url))
  const { status } = spawnSync(process.execPath, ['--no-warnings', script, '--if-stale'], {
    stdio: 'inherit',
  })
  if (status !== 0)
    throw new Error('the dashboard or causeway kubectl could not be built; see above, and run npm run build')
}

/** Migrates a database for all files of tests to copy (migrated-memory.ts). */
async function keepMigrated() {
  const path = `${FOLDER}migrated.db`
  const made = `${path}-${process.pid}`
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(made, await serializedEmpty())
  renameSync(made, path)
  return path
}

/** A PATH with the commands of .ci/bare-commands, npm and what npm adds alone. */
function barePath(path) {
  const folder = join(FOLDER, 'path')
  mkdirSync(folder, { recursive: true })
  const listed = readFileSync(new URL('../../.ci/bare-commands', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const folders = path.split(delimiter)
  for (const command of [...listed, 'npm', 'npx']) {
    const found = folders
      .map((each) => join(each, command))
      .find((each) => each !== join(folder, command) && existsSync(each))
    if (found === undefined) continue
    const made = join(folder, `${command}-${process.pid}`)
    symlinkSync(found, made)
    renameSync(made, join(folder, command))
  }
  const added = folders.filter((each) => each.endsWith(join('node_modules', '.bin')))
  return [...added, folder].join(delimiter)
}
