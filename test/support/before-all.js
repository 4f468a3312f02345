import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serializedEmpty } from './serialized-empty.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FOLDER = join(ROOT, 'node_modules', '.cache', 'causeway-tests')

/** The large suites may need programs that not every machine has; npm test runs with git and Node alone. */
const IS_FOR_ANY_MACHINE = ['FAULTS', 'ATTACK', 'BROWSER', 'INTEROP', 'SQLITE_SHELL'].every(
  (suite) => process.env[`CAUSEWAY_${suite}`] === undefined,
)

export default async function beforeAll() {
  build()
  process.env.TMPDIR = temporaryFolder('causeway-tests-')
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
  const path = join(FOLDER, 'migrated.db')
  const made = `${path}-${process.pid}`
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(made, await serializedEmpty())
  renameSync(made, path)
  return path
}

/** A folder that is removed with all in it once the run has ended. */
function temporaryFolder(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  process.on('exit', () => {
    try {
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    } catch (error) {
      console.error(`${folder} is left: ${error.message}`)
    }
  })
  return folder
}

/**
 * A PATH with the commands of .ci/bare-commands and npm. What npm and bin/node.js put in front stays there; the machine's part is
 * outside of the checkout, as on any machine.
 */
function barePath(path) {
  const folder = temporaryFolder('causeway-bare-path-')
  const folders = path.split(delimiter)
  const added = folders.filter((each) => each.startsWith(ROOT))
  const ofMachine = folders.filter((each) => !each.startsWith(ROOT))
  const listed = readFileSync(join(ROOT, '.ci', 'bare-commands'), 'utf8')
    .trim()
    .split('\n')
  for (const command of [...listed, 'npm', 'npx']) {
    const found = ofMachine.map((each) => join(each, command)).find((each) => existsSync(each))
    if (found !== undefined) symlinkSync(found, join(folder, command))
  }
  return [...added, folder].join(delimiter)
}
