import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import { processesOfGroup, processesWith } from '../../lab/harness/processes/process-table.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const LONGEST_MS = 120_000

/** A toolchain that says what it builds, starts a compiler, leaves a file, and does not come to an end. */
const SLOW_GO = `#!/bin/sh
echo k8s.io/some/package >&2
echo half > "$GOTMPDIR/half-built"
sh -c 'while true; do sleep 1; done' "compiler of $0" &
wait
`

let home: string
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'causeway-kubernetes-demo-')))
  for (const folder of ['bin', 'peers', 'tmp']) mkdirSync(join(home, folder))
  writeFileSync(join(home, 'bin', 'go'), SLOW_GO)
  chmodSync(join(home, 'bin', 'go'), 0o755)
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function typed(...args: string[]) {
  const child = spawn('npm', ['run', '--silent', 'demo:kubernetes', '--', ...args], {
    cwd: ROOT,
    env: {
      ...process.env,
      PATH: [join(home, 'bin'), process.env.PATH].join(delimiter),
      CAUSEWAY_PEERS_DIR: join(home, 'peers'),
      TMPDIR: join(home, 'tmp'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, to which a terminal would send Ctrl-C.
    detached: true,
  })
  const said = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.stderr += text))
  const ending = once(child, 'close').then(([code]) => code as number | null)
  return { pid: child.pid ?? 0, said, ending }
}

test(
  'Ctrl-C while it builds ends the compilers, and leaves neither files nor processes',
  async () => {
    const demo = typed('--dashboard', `127.0.0.1:${await freePort()}`)
    await eventually(() =>
      expect(demo.said.stderr).toMatch(/^ {2}etcd, \d+ s: k8s\.io\/some\/package \(1\)$/m),
    )
    await eventually(async () => expect(await processesWith(`compiler of ${home}`)).not.toEqual([]))
    process.kill(-demo.pid, 'SIGINT')
    expect(await demo.ending).not.toBe(0)
    await eventually(async () => expect(await processesOfGroup(demo.pid)).toEqual([]), LONGEST_MS)
    expect(await processesWith(home)).toEqual([])
    expect(readdirSync(join(home, 'peers'))).toEqual([])
    expect(readdirSync(join(home, 'tmp')).filter((name) => name.startsWith('causeway'))).toEqual([])
    expect(demo.said.stderr).not.toMatch(/Error|^ +at /m)
  },
  LONGEST_MS,
)

test('--help, and what is no option', async () => {
  const help = typed('--help')
  expect(await help.ending).toBe(0)
  for (const option of ['--keep', '--dashboard', '--settle-after', '--help'])
    expect(help.said.stdout).toContain(`\n  ${option} `)
  const wrong = typed('--kep')
  expect(await wrong.ending).toBe(1)
  expect(wrong.said).toEqual({
    stdout: '',
    stderr: "Unknown option '--kep'; npm run demo:kubernetes -- --help lists the options\n",
  })
})

test('an address that is taken is told before anything is built', async () => {
  await using other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const demo = typed('--dashboard', `127.0.0.1:${port}`)
  expect(await demo.ending).toBe(1)
  expect(demo.said.stderr).toBe(
    `Another program listens on 127.0.0.1:${port}; stop it, or choose another address with --dashboard\n`,
  )
})
