import { execFile, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { BIN, CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import {
  argumentsFor,
  freshSettings,
  type CausewaySettings,
} from '../../lab/harness/causeway/causeway-settings.ts'
import { isHealthy } from '../../lab/harness/causeway/health-answer.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { processesWith } from '../../lab/harness/processes/process-table.ts'

const OLDEST = 20
const FIRST_THAT_RUNS_IT = 24

const old = olderNode()
const node = old?.path ?? process.execPath
const under =
  old === undefined ? 'under Node 24 itself, no older one being here' : `under Node ${old.version}`

leaveNothingBehind()

test(`${under}: --version says which Causeway it is`, async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  const { stdout } = await promisify(execFile)(node, [BIN, '--version'])
  expect(stdout).toContain(`causeway version ${version} (`)
})

test(`${under}: SIGTERM and SIGINT stop it cleanly`, async () => {
  await Promise.all([expectCleanEnd('SIGTERM'), expectCleanEnd('SIGINT')])
})

test(`${under}: SIGKILL of what was started ends the real process too`, async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings, node)
  expect((await realOnes(causeway, settings)).length).toBe(1)
  await causeway.end('SIGKILL')
  await eventually(async () => expect(await processesWith(settings.home)).toEqual([]))
})

test(`${under}: it ends as the real process ends`, async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings, node)
  const [real = 0] = await realOnes(causeway, settings)
  process.kill(real, 'SIGKILL')
  expect(await causeway.ending()).toEqual({ code: null, signal: 'SIGKILL' })

  await using faulty = new CausewayProcess({ ...settings, linking: { wait: 'a while' } }, node)
  const { code } = await faulty.ending()
  expect(code).toBeGreaterThan(0)
  expect(faulty.complaints).toEqual([expect.stringContaining('connectors::cpid::linking::wait')])
})

test('what npm starts ends also where npm is gone before it looks', async () => {
  const name = randomUUID()
  // It would wait for a connection for ever; the shell, in npm's place, ends at once.
  const script = `node bin/node.js -e 'net.createServer().listen(0, "127.0.0.1")' ${name} >/dev/null 2>&1 & echo $!`
  const started = execFileSync('sh', ['-c', script], { env: { ...process.env, npm_lifecycle_event: 'demo' } })
  using ending = new DisposableStack()
  ending.defer(() => endIfAlive(Number(started)))
  await eventually(async () => expect(await processesWith(name)).toEqual([]))
})

test('what npm start runs ends with the shell between, which hands no signal on', async () => {
  const settings = await freshSettings()
  const script = `"$0" "$@"; exit $?`
  const env = { ...process.env, npm_lifecycle_event: 'start', npm_package_name: 'causeway' }
  const args = ['-c', script, process.execPath, BIN, ...argumentsFor(settings)]
  const shell = spawn('sh', args, { env, stdio: 'ignore' })
  await eventually(async () => expect(await isHealthy(settings)).toBe(true))
  shell.kill('SIGTERM')
  await eventually(async () => expect(await processesWith(settings.home)).toEqual([]))
})

function endIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM')
  } catch {
    // It has ended, as it should.
  }
}

async function expectCleanEnd(signal: NodeJS.Signals): Promise<void> {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings, node)
  expect((await realOnes(causeway, settings)).length).toBe(1)
  expect(await causeway.end(signal)).toEqual({ code: 0, signal: null })
  expect(causeway.errors).toContain('Shutdown complete.')
  expect(await processesWith(settings.home)).toEqual([])
}

/** The processes that do the work: below the launcher, or the one started where there is none. */
async function realOnes(causeway: CausewayProcess, settings: CausewaySettings): Promise<number[]> {
  const all = await processesWith(settings.home)
  return old === undefined ? all : all.filter((pid) => pid !== causeway.pid)
}

/** A Node on the PATH that can start Causeway but not run it. */
function olderNode(): { path: string; version: string } | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (!existsSync(path)) continue
    const version = execFileSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
    const major = Number(version.split('.')[0])
    if (major >= OLDEST && major < FIRST_THAT_RUNS_IT) return { path, version }
  }
  return undefined
}
