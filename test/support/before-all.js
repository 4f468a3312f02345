import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { serializedEmpty } from './serialized-empty.ts'

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/causeway-tests/', import.meta.url))

export default async function beforeAll() {
  build()
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
