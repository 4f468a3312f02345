import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPeers } from '../../lab/peers/install-peers.ts'

const FOLDER = fileURLToPath(new URL('../../examples/prometheus', import.meta.url))
const RULES = 'causeway-alerts.yaml'
const CASES = 'causeway-alerts-test.yaml'

async function promtool(args: string[], cwd = FOLDER): Promise<{ status: number | null; output: string }> {
  const program = await installPeers(['promtool'])
  const { status, stdout, stderr } = spawnSync(program.promtool, args, { cwd, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

test('Prometheus takes the alert rules', async () => {
  const { status, output } = await promtool(['check', 'rules', '--lint-fatal', RULES])
  expect([status, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
})

test('the alerts fire when they should, and no other does', async () => {
  expect(await promtool(['test', 'rules', CASES])).toEqual({
    status: 0,
    output: expect.stringContaining('SUCCESS'),
  })
})

test.each([
  ['never comes', 'up{job="causeway"} == 0', 'up{job="causeway"} == 2'],
  ['comes too soon', 'cpid_exporter_lag) > 300', 'cpid_exporter_lag) > 3'],
  ['comes when all is well', 'cpid_storage_wal_bytes > 268435456', 'cpid_storage_wal_bytes > 1'],
])('an alert that %s is found', async (_, right, wrong) => {
  const folder = await mkdtemp(join(tmpdir(), 'causeway-alerts-'))
  try {
    await cp(FOLDER, folder, { recursive: true })
    const rules = await readFile(join(FOLDER, RULES), 'utf8')
    expect(rules).toContain(right)
    await writeFile(join(folder, RULES), rules.replace(right, wrong))
    const { status, output } = await promtool(['test', 'rules', CASES], folder)
    expect([status, output]).toEqual([1, expect.stringContaining('FAILED')])
  } finally {
    await rm(folder, { recursive: true })
  }
})
