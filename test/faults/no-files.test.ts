import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { CONFIG_FILE, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { Authority } from '../../lab/harness/certificates.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { OtlpEndpoint } from '../../packages/kubectl/otlp-endpoint.ts'
import { serviceAccountAccess, tokenFileCredential } from '../../src/kube/cluster/cluster-access.ts'
import { kubeconfigAccess } from '../../src/kube/cluster/kubeconfig.ts'
import { openBearerAuthenticator } from '../../src/platform/credentials.ts'
import { readNamedFileOrPipe } from '../../src/platform/named-file.ts'
import { openClientTls } from '../../src/platform/tls.ts'
import { openForReading, openForWriting } from '../../src/store/sqlite/open-database.ts'
import { CommittedArrivalsMark } from '../../src/store/sqlite/write-ahead-log.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'

leaveNothingBehind()

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-no-files-'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  symlinkSync('pipe', join(folder, 'link'))
  symlinkSync('/dev/zero', join(folder, 'device'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const TLS = { insecure: false, insecureSkipVerify: false }
const ENV = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '443' }

/** A kubeconfig with these parts of its cluster and user. */
function kubeconfig(cluster: object, user: object): string {
  const path = join(folder, 'config')
  const config = {
    'current-context': 'mine',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'mine', context: { cluster: 'c', user: 'u' } }],
  }
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** Everything that reads a file which somebody named. */
const READERS: Record<string, (path: string) => unknown> = {
  'a certificate authority': (path) => openClientTls({ ...TLS, caFile: path }),
  'a file of tokens': (filename) =>
    openBearerAuthenticator({
      ...{ id: 'bearertokenauth', header: 'Authorization', scheme: 'Bearer', tokens: [], filename },
      ...{ reloadIntervalMs: 0, onTrouble: () => undefined },
    }),
  'a kubeconfig': (path) => kubeconfigAccess({ path }),
  'the authority of a kubeconfig': (path) =>
    kubeconfigAccess({ path: kubeconfig({ 'certificate-authority': path }, {}) }),
  'a certificate of a kubeconfig': (path) =>
    kubeconfigAccess({ path: kubeconfig({}, { 'client-certificate': path }) }),
  'a token file': async (path) => await tokenFileCredential(path).present(),
  'a token file of a kubeconfig': async (path) =>
    await kubeconfigAccess({ path: kubeconfig({}, { tokenFile: path }) }).credential.present(),
  'the authority of an issuer of tokens': async (path) => {
    const config = {
      'idp-issuer-url': 'https://127.0.0.1:1',
      ...{ 'client-id': 'c', 'refresh-token': 'r', 'idp-certificate-authority': path },
    }
    const user = { 'auth-provider': { name: 'oidc', config } }
    await kubeconfigAccess({ path: kubeconfig({}, user) }).credential.present()
  },
  'a database': (path) => openForWriting(path).close(),
  'a database for questions': (path) => openForReading(path).close(),
  'a certificate authority of OTLP': (path) =>
    new OtlpEndpoint('https://127.0.0.1:1', { OTEL_EXPORTER_OTLP_CERTIFICATE: path }),
}

const CASES = Object.keys(READERS).flatMap((reader) =>
  ['pipe', 'link', 'device'].map((name) => [reader, name] as const),
)

test.each(CASES)('%s that is a %s is refused without being waited for', async (reader, name) => {
  const read = async (): Promise<unknown> => await READERS[reader]?.(join(folder, name))
  await expect(read()).rejects.toThrow(/is no file but a pipe or a device; name a file/)
})

test.each(['pipe', 'link'])('a configuration that is a named %s is not waited for', (name) => {
  const path = join(folder, name)
  expect(() => readNamedFileOrPipe(path)).toThrow(
    `${path} is a named pipe, which may never be written; name a file, or hand it over by /dev/stdin`,
  )
})

test.each(['-wal', '-shm', '-lock', '-mark'])(
  'a pipe in the place of %s beside a database is refused',
  (end) => {
    const path = join(mkdtempSync(join(folder, 'beside-')), 'causeway.db')
    openForWriting(path).close()
    rmSync(`${path}${end}`, { force: true })
    execFileSync('mkfifo', [`${path}${end}`])
    // It is read before the database is opened.
    expect(new CommittedArrivalsMark(path).missing(0)).toBe(0)
    expect(() => openForWriting(path)).toThrow(
      `${path}${end}, which belongs to the database, is no file but a pipe or a device; remove it`,
    )
  },
)

test('a service account whose authority is a pipe is refused', () => {
  const account = mkdtempSync(join(folder, 'account-'))
  execFileSync('mkfifo', [join(account, 'ca.crt')])
  expect(() => serviceAccountAccess(account, ENV)).toThrow('ca.crt cannot be read')
})

test('a configuration and a certificate that become pipes hold nothing up', async () => {
  const settings = await freshSettings()
  const { cert, key } = new Authority().issue()
  const [certFile, keyFile] = ['cert.pem', 'key.pem'].map((name) => join(settings.home, name)) as [
    string,
    string,
  ]
  writeFileSync(certFile, cert)
  writeFileSync(keyFile, key)
  settings.patch = {
    receivers: {
      otlp: {
        protocols: { http: { tls: { cert_file: certFile, key_file: keyFile, reload_interval: '1s' } } },
      },
    },
  }
  await using causeway = await startCauseway(settings)
  const config = join(settings.home, CONFIG_FILE)
  for (const path of [certFile, config]) {
    rmSync(path)
    execFileSync('mkfifo', [path])
  }
  process.kill(causeway.pid, 'SIGHUP')
  await eventually(() =>
    expect(causeway.errors).toContain(`${CONFIG_FILE} is no file but a pipe or a device`),
  )
  await eventually(() => expect(causeway.errors).toContain('cert.pem is no file but a pipe or a device'))
  await causeway.ready()
})
