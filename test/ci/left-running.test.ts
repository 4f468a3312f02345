import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { freshDirectory } from '../../lab/harness/fresh-directory.ts'

interface Results {
  testResults: { name: string; status: string; message: string }[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const IMPORTS = `import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, test } from '@jest/globals'
`

/** What a file of tests does, and the kind of thing that it leaves. */
const LEAVING = {
  immediates: ['const again = () => setImmediate(again); again()', /Immediate \(1\)/],
  timer: ['setTimeout(() => undefined, 3_600_000)', /Timeout \(1\)/],
  server: [`createServer().listen(0, '127.0.0.1')`, /TCPServerWrap \(1\)/],
  socket: [
    `const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  connect(server.address().port, '127.0.0.1')
  await once(server, 'connection')
  server.close()`,
    /TCPSocketWrap \(2\)/,
  ],
  program: [`spawn('cat')`, /ProcessWrap \(1\)/],
  // Red for a reason of its own, which is what is shown.
  failing: [`createServer().listen(0, '127.0.0.1'); expect(1).toBe(2)`, /toBe/],
} as const

const ENDING = {
  nothing: '',
  unreferenced: 'setTimeout(() => undefined, 3_600_000).unref()',
  soon: 'setTimeout(() => undefined, 50)',
  closing: `const server = createServer().listen(0, '127.0.0.1'); await once(server, 'listening'); server.close()`,
} as const

test('a file of tests that leaves something running is red, and those beside it are not', async () => {
  using directory = freshDirectory(tmpdir())
  const write = (name: string, body: string): void =>
    writeFileSync(
      join(directory.path, `${name}.test.mjs`),
      `${IMPORTS}test('${name}', async () => {\n  ${body}\n})\n`,
    )
  for (const [name, [body]] of Object.entries(LEAVING)) write(name, body)
  for (const [name, body] of Object.entries(ENDING)) write(name, body)
  const jestFile = (name: string): string => join(ROOT, 'test/support/jest', name)
  const config = {
    rootDir: directory.path,
    runtime: jestFile('native-runtime.js'),
    testEnvironment: jestFile('this-process.js'),
    testEnvironmentOptions: { longestMs: 1_000 },
    testMatch: ['**/*.test.mjs'],
    transform: {},
    reporters: [[jestFile('end-anyway.js'), { afterMs: 100 }]],
  }
  const output = join(directory.path, 'results.json')
  // All in one process, which ends nevertheless.
  const jest = promisify(execFile)(process.execPath, [
    ...['--no-warnings', join(ROOT, 'node_modules/jest/bin/jest.js'), '--runInBand'],
    ...['--config', JSON.stringify(config), '--json', '--outputFile', output],
  ])
  await expect(jest).rejects.toMatchObject({ code: 1 })
  const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as Results
  const of = new Map(testResults.map((result) => [basename(result.name, '.test.mjs'), result]))
  for (const [name, [, kind]] of Object.entries(LEAVING)) {
    expect([name, of.get(name)?.status]).toEqual([name, 'failed'])
    expect(of.get(name)?.message).toMatch(kind)
  }
  for (const name of Object.keys(ENDING)) expect([name, of.get(name)?.message]).toEqual([name, ''])
})
