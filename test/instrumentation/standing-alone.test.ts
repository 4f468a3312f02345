import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import * as names from '../../packages/instrumentation/src/attributes.ts'
import { parseCpid } from '../../packages/instrumentation/src/cpid.ts'
import * as words from '../../src/model/attributes.ts'
import { parseCpid as parseInCauseway } from '../../src/model/merge-graph.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CPID = '0f3c1f0e-6a5e-4d4e-9a42-5f2f2d1f6a10'
const FOLDER = new URL('../../packages/instrumentation/src/', import.meta.url)

test('nothing but the OpenTelemetry API is needed to run it', () => {
  const needed = new Set<string>()
  for (const file of readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts')) continue
    const source = readFileSync(new URL(file, FOLDER), 'utf8')
    for (const [, from = ''] of source.matchAll(/from '([^']+)'/g)) {
      if (!from.startsWith('.') || !new URL(from, new URL(file, FOLDER)).href.startsWith(FOLDER.href))
        needed.add(from)
    }
  }
  expect([...needed].sort()).toEqual(['@opentelemetry/api', 'node:async_hooks', 'node:crypto'])
})

test('its names are those that Causeway reads', () => {
  expect(words).toMatchObject(names)
})

test.each([
  '0F3C1F0E6A5E4D4E9A425F2F2D1F6A10',
  CPID,
  '0'.repeat(32),
  `${CPID}0`,
  'x',
  '',
  CPID.replace('-', ''),
])('it reads %s as a CPID where Causeway does', (text) => {
  expect(parseCpid(text)).toBe(parseInCauseway(text))
})

test('it is a package beside Causeway', async () => {
  const script = `import('causeway-instrumentation').then((all) => console.log(JSON.stringify(Object.keys(all))))`
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
    const entries = ['', '/kubernetes', '/testing'].map(
      (entry) => `import('causeway-instrumentation${entry}')`,
    )
    const all = `Promise.all([${entries.join()}]).then((all) => console.log(all.flatMap(Object.keys).join()))`
    const named = await run(process.execPath, ['--no-strip-types', '-e', all], { cwd: folder })
    expect(named.stdout).toMatch(/createInstrumentation.*traceCluster,ReportedChanges/)
    const script = `import('causeway-instrumentation').then(({ createInstrumentation }) => {
      const { newRoot, extractFromObject, injectIntoObject } = createInstrumentation({ newCpid: () => '${CPID}' })
      console.log(extractFromObject(injectIntoObject(newRoot(), {})).cpid)
    })`
    const { stdout } = await run(process.execPath, ['--no-strip-types', '-e', script], { cwd: folder })
    expect(stdout.trim()).toBe(CPID)
    const library = join(folder, 'node_modules/causeway-instrumentation')
    expect(readdirSync(library)).toContain('index.d.ts')
    for (const document of ['README.md', 'LIBRARY.md']) {
      const links = readFileSync(join(library, document), 'utf8').matchAll(/\]\(([^)]+)\)/g)
      const outside = Array.from(links, ([, link = '']) => link).filter(
        (link) => !/^(?:#|https?:)/.test(link),
      )
      expect(outside).toEqual([])
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
