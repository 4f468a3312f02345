import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { installPeers } from '../../lab/peers/install-peers.ts'

const MODULE = fileURLToPath(new URL('../../go/', import.meta.url))
const STATICCHECK = 'honnef.co/go/tools/cmd/staticcheck@v0.8.2'
/** The first time, Kubernetes' client is compiled. */
const PATIENCE_MS = 1_200_000

interface Outcome {
  readonly isDone: boolean
  /** What was written, which says what is wrong where it was not done. */
  readonly output: string
}

function go(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  const options = { cwd: MODULE, env: { ...process.env, GOWORK: 'off', ...env }, maxBuffer: 2 ** 26 }
  return new Promise((resolve) => {
    execFile('go', args, options, (error, stdout, stderr) => {
      resolve({ isDone: error === null, output: `${stdout}${stderr}` })
    })
  })
}

test(
  'go vet finds nothing in the module for Go',
  async () => {
    expect(await go(['vet', '-tags', 'cluster', './...'])).toEqual({ isDone: true, output: '' })
  },
  PATIENCE_MS,
)

test(
  'staticcheck finds nothing in the module for Go',
  async () => {
    // Where its modules have to be fetched, go says so on the standard error.
    const { isDone, output } = await go(['run', STATICCHECK, '-tags', 'cluster', './...'])
    expect({ isDone, found: output.replaceAll(/^go: downloading .*\n/gm, '') }).toEqual({
      isDone: true,
      found: '',
    })
  },
  PATIENCE_MS,
)

test(
  'the module for Go passes its tests, the conformance vectors and its stories on an API server',
  async () => {
    const programs = await installPeers(['etcd', 'kube-apiserver'])
    const { isDone, output } = await go(['test', '-count=1', '-tags', 'cluster', './...'], {
      TEST_ASSET_ETCD: programs.etcd,
      TEST_ASSET_KUBE_APISERVER: programs['kube-apiserver'],
    })
    if (!isDone) throw new Error(output)
    for (const tested of ['causeway', 'causeway/changes', 'causeway/cpid', 'causeway/otlp']) {
      expect(output).toMatch(new RegExp(`^ok\\s+${tested}\\s`, 'm'))
    }
  },
  PATIENCE_MS,
)
