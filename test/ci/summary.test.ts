import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from '@jest/globals'

const run = promisify(execFile)
const SUMMARY = fileURLToPath(new URL('../../.ci/summary.js', import.meta.url))
const AUDIT = fileURLToPath(new URL('../../scripts/audit-dependencies.ts', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-summary-'))
  writeFileSync(
    join(folder, 'tests.json'),
    '{ "numPassedTests": 12, "numFailedTests": 0, "numRuntimeErrorTestSuites": 0 }',
  )
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const SILENT_REGISTRY = {
  ...process.env,
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
  npm_config_audit: 'true',
}

test('an audit that could not ask the registry fails, and says what to do', async () => {
  await expect(run(process.execPath, [AUDIT], { env: SILENT_REGISTRY })).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^dependencies: NOT AUDITED, the registry could not be asked: /),
    stderr: expect.stringMatching(
      /^Error: nothing was audited; .*npm config get registry.*, or note it with --not-asked <file>\n$/,
    ),
  })
})

test('with --not-asked it is no failure, and is said beside the sum, which does not count it', async () => {
  const env = SILENT_REGISTRY
  const notAsked = join(folder, 'audit.not-run')
  const audit = await run(process.execPath, [AUDIT, '--not-asked', notAsked], { env })
  expect(audit.stdout).toMatch(/^dependencies: NOT AUDITED, the registry could not be asked: /)
  expect(readFileSync(notAsked, 'utf8')).toMatch(
    /^the dependency audit, as the registry could not be asked: .+\n$/,
  )

  const { stdout } = await run(process.execPath, [SUMMARY, folder])
  expect(stdout).toMatch(
    /^NOT RUN, so neither passed nor failed: the dependency audit, as the registry could not be asked: .+\nTests: 12 passed, 0 failed\n$/,
  )
})

test('where everything was run the sum stands alone', async () => {
  expect((await run(process.execPath, [SUMMARY, folder])).stdout).toBe('Tests: 12 passed, 0 failed\n')
})

test('one failed test, or a file of tests that did not load, fails it all', async () => {
  writeFileSync(
    join(folder, 'faults.json'),
    '{ "numPassedTests": 3, "numFailedTests": 1, "numRuntimeErrorTestSuites": 1 }',
  )
  await expect(run(process.execPath, [SUMMARY, folder])).rejects.toMatchObject({
    code: 1,
    stdout: 'Tests: 15 passed, 2 failed\n',
  })
})
