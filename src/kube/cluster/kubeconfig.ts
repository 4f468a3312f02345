import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve, sep } from 'node:path'
import { parse } from 'yaml'
import { errorText } from '../../model/faults.ts'
import { readNamedFile } from '../../platform/named-file.ts'
import {
  arrayIn,
  booleanIn,
  isObject,
  type Json,
  type JsonObject,
  objectIn,
  textIn,
} from '../objects/object-json.ts'
import {
  bearer,
  combinedCredential,
  type ClusterAccess,
  type Credential,
  execCredential,
  type ExecPlugin,
  fixedCredential,
  oidcCredential,
  type PresentedCredential,
  type ServerTrust,
  tokenFileCredential,
} from './cluster-access.ts'

interface KubeconfigChoice {
  /** A file; by default the files that kubectl reads. */
  readonly path?: string | undefined
  /** The current context unless given. */
  readonly context?: string | undefined
  /** Instead of the context's own cluster. */
  readonly cluster?: string | undefined
  readonly user?: string | undefined
  /** Overrides of the kubeconfig's cluster settings, by the same keys. Paths are relative to the working directory. */
  readonly clusterSettings?: JsonObject
  readonly userSettings?: JsonObject
}

const FILES = new Set(['certificate-authority', 'client-certificate', 'client-key'])
const LOGINS = ['token', 'tokenFile', 'username', 'password', 'exec', 'auth-provider']
const AUTHORITIES = ['certificate-authority', 'certificate-authority-data']
/** For each setting, the keys it replaces. */
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

/** Applies the overrides, and drops the keys that they replace. */
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

/** Everything in the URL besides its scheme may be secret. */
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

const PLUGIN_VERSIONS = new Set(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'])
/** The extension under which a kubeconfig holds the cluster configuration for exec plugins. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec'

/** The credential of a user in a kubeconfig. Throws an Error that says what cannot be used. */
function userCredential(user: NamedPart, cluster: NamedPart): Credential {
  const fixed = fixedCredential(fixedPart(user))
  const changing = changingPart(user, cluster)
  return changing === undefined ? fixed : combinedCredential(fixed, changing)
}

/** Certificate, token, password, and impersonation. */
function fixedPart(user: NamedPart): PresentedCredential {
  const { content } = user
  const cert = fileOrData(user, 'client-certificate')
  const key = fileOrData(user, 'client-key')
  const [token, name, password] = ['token', 'username', 'password'].map((part) => textIn(content, part))
  const basic = Buffer.from(`${name ?? ''}:${password ?? ''}`).toString('base64')
  const groups = arrayIn(content, 'as-groups').filter((group) => typeof group === 'string')
  const as = textIn(content, 'as')
  return {
    headers: {
      ...(name && { authorization: `Basic ${basic}` }),
      ...(token && bearer(token)),
      ...(as !== '' && { 'impersonate-user': as }),
      ...(groups.length > 0 && { 'impersonate-group': groups }),
    },
    ...(cert !== '' && key !== '' && { cert, key }),
  }
}

/** A credential that expires and is renewed. A plugin takes precedence over a file. */
function changingPart(user: NamedPart, cluster: NamedPart): Credential | undefined {
  const { content, directory } = user
  if (Object.hasOwn(content, 'exec')) return execCredential(pluginOf(user, cluster))
  const tokenFile = textIn(content, 'tokenFile')
  if (tokenFile !== '') return tokenFileCredential(resolve(directory, tokenFile))
  const provider = objectIn(content, 'auth-provider')
  const name = textIn(provider, 'name')
  if (name === 'oidc') return oidcOf({ content: objectIn(provider, 'config'), directory })
  if (name !== '')
    throw new Error(
      `the kubeconfig's auth-provider ${name} is no longer part of Kubernetes; use its exec plugin`,
    )
  return undefined
}

function pluginOf({ content, directory }: NamedPart, cluster: NamedPart): ExecPlugin {
  const exec = objectIn(content, 'exec')
  const apiVersion = textIn(exec, 'apiVersion')
  if (!PLUGIN_VERSIONS.has(apiVersion))
    throw new Error(
      `the kubeconfig's exec plugin speaks "${apiVersion}"; write client.authentication.k8s.io/v1, if the plugin knows it`,
    )
  if (textIn(exec, 'interactiveMode') === 'Always')
    throw new Error(
      'the kubeconfig has an exec plugin that asks a person (interactiveMode: Always); use another',
    )
  const command = textIn(exec, 'command')
  if (command === '') throw new Error('the kubeconfig has an exec plugin without a command')
  const env = arrayIn(exec, 'env').map((entry) => [textIn(entry, 'name'), textIn(entry, 'value')])
  return {
    apiVersion,
    // Looked up on the PATH, unless it contains a path.
    command: command.includes('/') || command.includes(sep) ? resolve(directory, command) : command,
    args: arrayIn(exec, 'args').filter((arg) => typeof arg === 'string'),
    env: Object.fromEntries(env) as Record<string, string>,
    installHint: textIn(exec, 'installHint'),
    ...(booleanIn(exec, 'provideClusterInfo') && { cluster: clusterForPlugin(cluster) }),
  }
}

function clusterForPlugin(cluster: NamedPart): JsonObject {
  const { content } = cluster
  const ca = fileOrData(cluster, 'certificate-authority')
  const extension = arrayIn(content, 'extensions').find((entry) => textIn(entry, 'name') === PLUGIN_CONFIG)
  return {
    server: textIn(content, 'server'),
    'tls-server-name': textIn(content, 'tls-server-name'),
    'insecure-skip-tls-verify': booleanIn(content, 'insecure-skip-tls-verify'),
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
    'proxy-url': textIn(content, 'proxy-url'),
    config: objectIn(extension, 'extension'),
  }
}

function oidcOf({ content, directory }: NamedPart): Credential {
  const file = textIn(content, 'idp-certificate-authority')
  const data = textIn(content, 'idp-certificate-authority-data')
  return oidcCredential({
    issuer: textIn(content, 'idp-issuer-url'),
    clientId: textIn(content, 'client-id'),
    clientSecret: textIn(content, 'client-secret'),
    idToken: textIn(content, 'id-token'),
    refreshToken: textIn(content, 'refresh-token'),
    caFile: file === '' ? '' : resolve(directory, file),
    caPem: Buffer.from(data, 'base64').toString(),
  })
}

/** A part of a kubeconfig by its name, and the folder that its paths are relative to. */
interface NamedPart {
  readonly content: JsonObject
  readonly directory: string
}

interface Kubeconfig {
  /** The files it was read from, for messages. */
  readonly files: readonly string[]
  readonly currentContext: string
  readonly clusters: ReadonlyMap<string, NamedPart>
  readonly users: ReadonlyMap<string, NamedPart>
  readonly contexts: ReadonlyMap<string, NamedPart>
}

/** Where kubectl looks: what `KUBECONFIG` names, else `~/.kube/config`. */
export function kubeconfigFiles(env: Readonly<Record<string, string | undefined>> = process.env): string[] {
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  return named.length > 0 ? named : [join(homedir(), '.kube', 'config')]
}

/**
 * Merges files as kubectl does: of parts with the same name the first wins, and missing files are skipped unless all are missing. Throws
 * an Error that names the file.
 */
function readKubeconfig(files: readonly string[]): Kubeconfig {
  const there = files.filter((path) => existsSync(path))
  if (there.length === 0)
    throw new Error(`there is no kubeconfig at ${files.join(', ')}; name one (--kubeconfig, KUBECONFIG)`)
  const clusters = new Map<string, NamedPart>()
  const users = new Map<string, NamedPart>()
  const contexts = new Map<string, NamedPart>()
  let currentContext = ''
  for (const path of there) {
    const content = readFile(path)
    currentContext ||= textIn(content, 'current-context')
    const directory = dirname(path)
    addParts(clusters, content, 'clusters', 'cluster', directory)
    addParts(users, content, 'users', 'user', directory)
    addParts(contexts, content, 'contexts', 'context', directory)
  }
  return { files: there, currentContext, clusters, users, contexts }
}

/** The text under `<key>-data`, or the contents of the file under `<key>`; empty if neither is given. */
function fileOrData({ content, directory }: NamedPart, key: string): string {
  const data = textIn(content, `${key}-data`)
  if (data !== '') return Buffer.from(data, 'base64').toString()
  const file = textIn(content, key)
  if (file === '') return ''
  try {
    return readNamedFile(resolve(directory, file)).toString('utf8')
  } catch (cause) {
    throw new Error(`the kubeconfig's ${key} cannot be read: ${errorText(cause)}`, { cause })
  }
}

function readFile(path: string): JsonObject {
  let content: Json
  try {
    content = parse(readNamedFile(path).toString('utf8')) as Json
  } catch (cause) {
    throw new Error(`the kubeconfig ${path} cannot be read: ${errorText(cause)}`, { cause })
  }
  if (!isObject(content)) throw new Error(`${path} is no kubeconfig`)
  return content
}

function addParts(
  parts: Map<string, NamedPart>,
  content: JsonObject,
  list: string,
  key: string,
  directory: string,
): void {
  for (const entry of arrayIn(content, list)) {
    const name = textIn(entry, 'name')
    if (!parts.has(name)) parts.set(name, { content: objectIn(entry, key), directory })
  }
}
