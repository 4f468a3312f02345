import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds the dashboard before the tests when it is missing or older than its sources. */
export default function buildDashboard() {
  const script = fileURLToPath(new URL('../../scripts/build-dashboard.ts', import.meta.url))
  const { status } = spawnSync(process.execPath, ['--no-warnings', script, '--if-stale'], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error('the dashboard could not be built; see above, and run npm run build')
}
