import { resolve } from 'node:path'
import { booleanIn, textIn, type JsonObject } from '../kubernetes/json-access.ts'
import type { ClusterAccess, ServerTrust } from './cluster-access.ts'
import {
  fileOrData,
  kubeconfigFiles,
  readKubeconfig,
  type Kubeconfig,
  type NamedPart,
} from './kubeconfig-files.ts'
import { userCredential } from './kubeconfig-user.ts'

export interface KubeconfigChoice {
  /** A file; where kubectl looks unless given. */
  readonly path?: string | undefined
  /** The current one unless given. */
  readonly context?: string | undefined
  /** Instead of the context's own. */
  readonly cluster?: string | undefined
  readonly user?: string | undefined
  /** What counts instead of what stands in the kubeconfig, by the same keys; paths are relative to here. */
  readonly clusterSettings?: JsonObject
  readonly userSettings?: JsonObject
}

const FILES = new Set(['certificate-authority', 'client-certificate', 'client-key'])
const LOGINS = ['token', 'tokenFile', 'username', 'password', 'exec', 'auth-provider']
const AUTHORITIES = ['certificate-authority', 'certificate-authority-data']
/** What does not count beside a setting. */
const REPLACES: ReadonlyMap<string, readonly string[]> = new Map([
  ['token', LOGINS],
  ['username', LOGINS],
  ['client-certificate', ['client-certificate-data']],
  ['client-key', ['client-key-data']],
  ['certificate-authority', ['certificate-authority-data', 'insecure-skip-tls-verify']],
  ['insecure-skip-tls-verify', AUTHORITIES],
])

/** A cluster as a kubeconfig names it. Throws an Error that says what is missing in which file. */
export function kubeconfigAccess({ path, context, ...choice }: KubeconfigChoice): ClusterAccess {
  const kubeconfig = readKubeconfig(path === undefined ? kubeconfigFiles() : [path])
  const name = context ?? kubeconfig.currentContext
  if (name === '')
    throw new Error(`${where(kubeconfig)} has no current-context; name one: ${namesOf(kubeconfig.contexts)}`)
  const { content } = partNamed(kubeconfig, 'contexts', name)
  const cluster = withSettings(
    partNamed(kubeconfig, 'clusters', choice.cluster ?? textIn(content, 'cluster')),
    choice.clusterSettings,
  )
  const userName = choice.user ?? textIn(content, 'user')
  const user = withSettings(
    userName === '' ? { content: {}, directory: '.' } : partNamed(kubeconfig, 'users', userName),
    choice.userSettings,
  )
  return {
    name,
    server: serverOf(cluster, kubeconfig),
    tls: trustOf(cluster),
    proxy: proxyOf(cluster, kubeconfig),
    credential: userCredential(user, cluster),
    namespace: textIn(content, 'namespace'),
  }
}

/** Where there are settings of one's own, what would say the same otherwise does not count. */
function withSettings({ content, directory }: NamedPart, settings: JsonObject = {}): NamedPart {
  const own = Object.entries(settings).map(([key, value]) => [
    key,
    FILES.has(key) && typeof value === 'string' ? resolve(value) : value,
  ])
  const replaced = new Set(Object.keys(settings).flatMap((key) => [key, ...(REPLACES.get(key) ?? [])]))
  const rest = Object.entries(content).filter(([key]) => !replaced.has(key))
  return { content: Object.fromEntries([...rest, ...own]) as JsonObject, directory }
}

function serverOf({ content }: NamedPart, kubeconfig: Kubeconfig): URL {
  const server = textIn(content, 'server')
  if (!/^https?:/.test(server) || !URL.canParse(server))
    throw new Error(`${where(kubeconfig)} has no server for this cluster, but "${server}"`)
  return new URL(server)
}

/** What stands in it besides its scheme may be secret. */
function proxyOf({ content }: NamedPart, kubeconfig: Kubeconfig): string {
  const proxy = textIn(content, 'proxy-url')
  if (proxy === '' || (/^https?:/.test(proxy) && URL.canParse(proxy))) return proxy
  const scheme = /^[a-z][a-z\d+.-]*(?=:\/\/)/i.exec(proxy)?.[0]
  throw new Error(
    `${where(kubeconfig)} has a proxy-url that is ${scheme === undefined ? 'no URL' : `of the kind ${scheme}`}; ` +
      'Causeway goes through proxies at http:// and https:// URLs: name one, or take it out where the server can be reached without',
  )
}

function trustOf(cluster: NamedPart): ServerTrust {
  const ca = fileOrData(cluster, 'certificate-authority')
  const servername = textIn(cluster.content, 'tls-server-name')
  return {
    ...(ca !== '' && { ca }),
    ...(servername !== '' && { servername }),
    ...(booleanIn(cluster.content, 'insecure-skip-tls-verify') && { rejectUnauthorized: false }),
  }
}

function partNamed(kubeconfig: Kubeconfig, list: 'clusters' | 'users' | 'contexts', name: string): NamedPart {
  const found = kubeconfig[list].get(name)
  if (found !== undefined) return found
  const there = namesOf(kubeconfig[list])
  throw new Error(`${where(kubeconfig)} has no "${name}" among its ${list}; there are ${there}`)
}

function where({ files }: Kubeconfig): string {
  return `the kubeconfig ${files.join(', ')}`
}

function namesOf(parts: ReadonlyMap<string, NamedPart>): string {
  return parts.size === 0 ? 'none' : [...parts.keys()].join(', ')
}
