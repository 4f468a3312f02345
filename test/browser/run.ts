// npm run test:browser: the dashboard in a headless Chromium, over a real Causeway. With --where-possible a machine
// without Chromium is no failure.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findChromium } from '../../lab/harness/browser/chromium.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const JEST = fileURLToPath(new URL('../../node_modules/jest/bin/jest.js', import.meta.url))
const WHERE_POSSIBLE = '--where-possible'

const args = process.argv.slice(2)
const chromium = findChromium()
if (chromium.kind === 'absent') {
  process.stderr.write(
    `Browser tests: NOT RUN, ${chromium.why}; install it, or name one in CAUSEWAY_CHROMIUM\n`,
  )
  process.exitCode = args.includes(WHERE_POSSIBLE) ? 0 : 1
} else {
  const suite = ['--runInBand', '--testMatch=<rootDir>/test/browser/**/*.test.ts']
  const { status } = spawnSync(
    process.execPath,
    ['--no-warnings', JEST, ...args.filter((arg) => arg !== WHERE_POSSIBLE), ...suite],
    {
      cwd: ROOT,
      env: { ...process.env, CAUSEWAY_BROWSER: '1', CAUSEWAY_CHROMIUM: chromium.path },
      stdio: 'inherit',
    },
  )
  process.exitCode = status ?? 1
}
