import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test, expect } from '@jest/globals'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CPID = '0f3c1f0e-6a5e-4d4e-9a42-5f2f2d1f6a10'
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
    '../model/own-value.ts',
    '@opentelemetry/api',
    'node:crypto',
  ])
})

test('it is a sub-path of the package', async () => {
  const script = `import('causeway/instrumentation').then((all) => console.log(JSON.stringify(Object.keys(all))))`
  const { stdout } = await run(process.execPath, ['--no-warnings', '-e', script], {
    cwd: fileURLToPath(FOLDER),
  })
  expect(JSON.parse(stdout)).toEqual(expect.arrayContaining(['createInstrumentation', 'mergeTraceContexts']))
})

test('packed, it runs below node_modules as plain JavaScript with types', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-packed-'))
  try {
    const { stdout: packed } = await run(process.execPath, [
      join(ROOT, 'scripts/pack-instrumentation.ts'),
      folder,
    ])
    const quickly = ['--offline', '--legacy-peer-deps', '--no-audit', '--no-fund', '--no-package-lock']
    await run('npm', ['install', '--prefix', folder, ...quickly, packed.trim()])
    symlinkSync(join(ROOT, 'node_modules/@opentelemetry'), join(folder, 'node_modules/@opentelemetry'))
    const script = `import('causeway/instrumentation').then(({ createInstrumentation }) => {
      const { newRoot, extractFromObject, injectIntoObject } = createInstrumentation({ newCpid: () => '${CPID}' })
      console.log(extractFromObject(injectIntoObject(newRoot(), {})).cpid)
    })`
    const { stdout } = await run(process.execPath, ['--no-strip-types', '-e', script], { cwd: folder })
    expect(stdout.trim()).toBe(CPID)
    expect(readdirSync(join(folder, 'node_modules/causeway/instrumentation'))).toContain('index.d.ts')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
