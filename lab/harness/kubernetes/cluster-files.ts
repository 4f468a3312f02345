import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Authority } from '../certificates.ts'
import { kwokStages } from './kwok-stages.ts'

/** How much the audit log says of a write. */
export type AuditLevel = 'Metadata' | 'Request' | 'RequestResponse'

/** The groups of each user by name. */
export type Users = Readonly<Record<string, readonly string[]>>

/** What is written into files for the programs of a cluster, by what it is. */
export interface ClusterFiles {
  /** Signed the API server's certificate and those of users. */
  readonly authority: Authority
  readonly tokens: ReadonlyMap<string, string>
  /** The path of a file. */
  readonly path: (name: string) => string
  readonly kubeconfig: (user: string) => string
  /** Writes the kubeconfig of a user who shows this. */
  readonly writeKubeconfig: (user: string, shown: object) => void
}

/** Nothing of reading, and of leases, which are renewed all the time; of secrets and Events only that they were written. */
const auditPolicy = (level: AuditLevel): object => ({
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [
    { level: 'None', verbs: ['get', 'list', 'watch'] },
    { level: 'None', resources: [{ group: 'coordination.k8s.io', resources: ['leases'] }] },
    {
      level: 'Metadata',
      resources: [
        { group: '', resources: ['secrets', 'configmaps', 'serviceaccounts/token', 'events'] },
        { group: 'authentication.k8s.io', resources: ['tokenreviews'] },
        { group: 'events.k8s.io', resources: ['events'] },
      ],
    },
    { level },
  ],
})

/** A kubeconfig with one server and one user; JSON is YAML as well. */
const kubeconfigOf = (cluster: object, user: object): object => ({
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'cluster',
  clusters: [{ name: 'cluster', cluster }],
  users: [{ name: 'user', user }],
  contexts: [{ name: 'cluster', context: { cluster: 'cluster', user: 'user' } }],
})

/** Writes everything that the programs of a cluster read into `directory`. */
export function writeClusterFiles(
  directory: string,
  port: number,
  users: Users,
  options: {
    /** Those who show a certificate; all others have a token. */
    certified: readonly string[]
    auditLevel: AuditLevel
    auditPolicy?: string | undefined
    auditWebhook?: string | undefined
    tracing?: string | undefined
    kubeletDelayMs?: readonly [number, number] | undefined
  },
): ClusterFiles {
  mkdirSync(directory, { recursive: true })
  const path = (name: string): string => join(directory, name)
  const write = (name: string, content: string | object): void =>
    writeFileSync(path(name), typeof content === 'string' ? content : JSON.stringify(content), {
      mode: 0o600,
    })
  const authority = new Authority('an authority of a cluster for tests')
  const server = authority.issue({ name: 'kube-apiserver', dns: ['localhost', 'kubernetes.default.svc'] })
  write('ca.crt', authority.cert)
  write('apiserver.crt', server.cert)
  write('apiserver.key', server.key)
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 })
  write('accounts.key', pair.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString())
  write('accounts.pub', pair.publicKey.export({ type: 'spki', format: 'pem' }).toString())

  const tokens = new Map(Object.keys(users).map((user) => [user, randomUUID()]))
  const rows = Object.entries(users).map(
    ([user, groups]) => `${tokens.get(user) ?? ''},${user},${user},"${groups.join(',')}"`,
  )
  write('tokens.csv', `${rows.join('\n')}\n`)
  const kubeconfig = (user: string): string => path(`${user.replaceAll(':', '-')}.kubeconfig`)
  const cluster = { server: `https://localhost:${port}`, 'certificate-authority': path('ca.crt') }
  const writeKubeconfig = (user: string, shown: object): void =>
    writeFileSync(kubeconfig(user), JSON.stringify(kubeconfigOf(cluster, shown)), { mode: 0o600 })
  for (const [user, token] of tokens)
    writeKubeconfig(
      user,
      options.certified.includes(user) ? certified(authority, user, users[user] ?? []) : { token },
    )
  write('audit-policy.yaml', options.auditPolicy ?? auditPolicy(options.auditLevel))
  if (options.auditWebhook !== undefined)
    write('audit-webhook.kubeconfig', kubeconfigOf({ server: options.auditWebhook }, {}))
  if (options.tracing !== undefined)
    write('tracing.yaml', {
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'TracingConfiguration',
      endpoint: options.tracing,
      samplingRatePerMillion: 1_000_000,
    })
  const stages = kwokStages(options.kubeletDelayMs)
  write('stages.yaml', stages.map((stage) => JSON.stringify(stage)).join('\n---\n'))
  return { authority, tokens, path, kubeconfig, writeKubeconfig }
}

/** A user of a kubeconfig who shows a certificate. */
function certified(authority: Authority, name: string, groups: readonly string[]): object {
  const { cert, key } = authority.issue({ name, groups })
  const encoded = (text: string): string => Buffer.from(text).toString('base64')
  return { 'client-certificate-data': encoded(cert), 'client-key-data': encoded(key) }
}
