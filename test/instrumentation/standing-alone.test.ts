import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, expect } from '@jest/globals'

const FOLDER = new URL('../../src/instrumentation/', import.meta.url)

test('nothing but the OpenTelemetry API and the words of the model is needed to run it', () => {
  const needed = new Set<string>()
  for (const file of readdirSync(FOLDER)) {
    const source = readFileSync(new URL(file, FOLDER), 'utf8')
    for (const [, from = ''] of source.matchAll(/from '([^']+)'/g))
      if (!from.startsWith('./')) needed.add(from)
  }
  expect([...needed].sort()).toEqual([
    '../model/attributes.ts',
    '../model/cpid.ts',
    '@opentelemetry/api',
    'node:crypto',
  ])
})

test('it is a sub-path of the package', async () => {
  const script = `import('causeway/instrumentation').then((all) => console.log(JSON.stringify(Object.keys(all))))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', '-e', script], {
    cwd: fileURLToPath(FOLDER),
  })
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining(['createInstrumentation', 'mergeTraceContexts']))
})
