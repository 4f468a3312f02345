// Installs the programs that Causeway is tested against, then runs jest on this directory: npm run test:interop.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installChdb } from '../../lab/peers/install-chdb.ts'
import { installPeers } from '../../lab/peers/install-peers.ts'
import { PeerInstallError } from '../../lab/peers/run-go.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const JEST = fileURLToPath(new URL('../../node_modules/jest/bin/jest.js', import.meta.url))
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

try {
  await installPeers()
  const left = [...(await withoutChdb()), ...withoutTerraform()]
  process.exitCode = await runSuite([
    ...process.argv.slice(2),
    ...left.map((path) => `--testPathIgnorePatterns=${path}`),
    ...(left.length > 0 ? ['--testPathIgnorePatterns=/node_modules/'] : []),
  ])
} catch (error) {
  if (!(error instanceof PeerInstallError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}

/** ClickHouse's engine is not built for every machine: then the archive's tests are not run, and that is said. */
async function withoutChdb(): Promise<string[]> {
  try {
    await installChdb()
    return []
  } catch (error) {
    process.stderr.write(
      `chdb cannot be installed, so that test/interop/archive is not run: ${String(error)}\n`,
    )
    return ['/test/interop/archive/']
  }
}

/** Building Terraform takes longer than all tests: it is run where somebody names one. */
function withoutTerraform(): string[] {
  const { CAUSEWAY_TERRAFORM: terraform, CAUSEWAY_TERRAFORM_PROVIDER: provider } = process.env
  if (terraform && provider) return []
  process.stderr.write(
    'Terraform: NOT RUN; name a tofu or terraform in CAUSEWAY_TERRAFORM, and a terraform-provider-kubernetes in CAUSEWAY_TERRAFORM_PROVIDER\n',
  )
  return ['/test/interop/kubernetes/terraform']
}

/** Runs the suite to its end and returns jest's exit code. Nothing stays behind, even where jest is killed. */
async function runSuite(args: readonly string[]): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'causeway-interop-'))
  try {
    return await runJest(args, directory)
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function runJest(args: readonly string[], directory: string): Promise<number> {
  // Each test starts several processes: one test at a time keeps the deadlines honest.
  const suite = ['--runInBand', '--testMatch=<rootDir>/test/interop/**/*.test.ts']
  const child = spawn(process.execPath, ['--no-warnings', JEST, ...args, ...suite], {
    cwd: ROOT,
    env: { ...process.env, CAUSEWAY_INTEROP: '1', CAUSEWAY_INTEROP_DIRECTORY: directory },
    stdio: 'inherit',
  })
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal))
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  child.once('error', reject)
  child.once('exit', (code, signal) => {
    resolve(signal === null ? (code ?? 1) : 128 + constants.signals[signal])
  })
  return promise
}
