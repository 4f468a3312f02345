import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const BIN = fileURLToPath(new URL('../../bin/', import.meta.url))

test.each([
  ['causeway', ['bin/causeway.js', 'validate']],
  ['a script of npm', ['bin/node.js', 'src/main.ts']],
])('%s of a checkout without its dependencies says what to run', (_, args) => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-checkout-'))
  try {
    cpSync(BIN, join(folder, 'bin'), { recursive: true })
    mkdirSync(join(folder, 'src'))
    writeFileSync(join(folder, 'src', 'main.ts'), "import 'yaml'\n")
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `causeway: its dependencies are not installed; run "npm ci" in ${folder}\n`,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
