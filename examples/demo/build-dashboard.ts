import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SCRIPT = fileURLToPath(new URL('../../scripts/build-dashboard.ts', import.meta.url))

/** Builds the dashboard when it is missing or older than its sources. The demo goes on without one, but says so. */
export async function buildDashboard(complain: (text: string) => void, stop: AbortSignal): Promise<void> {
  // An installed package has the dashboard built already, and not what builds it.
  if (!existsSync(SCRIPT)) return
  try {
    await promisify(execFile)(process.execPath, ['--no-warnings', SCRIPT, '--if-stale'], { signal: stop })
  } catch (error) {
    stop.throwIfAborted()
    const reason = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
    complain(`The dashboard could not be built; npm run build says why: ${reason}`)
  }
}
