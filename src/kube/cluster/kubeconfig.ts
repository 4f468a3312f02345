import { homedir } from 'node:os'
import { delimiter, dirname, join, resolve, sep } from 'node:path'
import { parse } from 'yaml'
import { errorText } from '../../model/faults.ts'
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
  authorityDoubt,
  bearer,
  combinedCredential,
  type ClusterAccess,
  type Credential,
  execCredential,
  type ExecPlugin,
  fixedCredential,
  oidcCredential,
  type OidcUser,
  pairFault,
  type PresentedCredential,
  type ServerTrust,
  tokenFileCredential,
} from './cluster-access.ts'
import { type FilesRead, FilesInUse, type FilesTrouble } from './files-in-use.ts'

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
  readonly onTrouble?: FilesTrouble
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

/**
 * The access to a cluster of a kubeconfig. Changes of its files are followed, but not a change to another server, since all stored state is
 * of this one. Throws an Error that says what is missing in which file.
 */
export function kubeconfigAccess({ path, onTrouble, ...choice }: KubeconfigChoice): ClusterAccess {
  const paths = path === undefined ? kubeconfigFiles() : [path]
  const kept = new KeptCredential()
  let first: { readonly name: string; readonly server: URL } | undefined
  const parts = new FilesInUse((files) => {
    const kubeconfig = readKubeconfig(paths, files)
    const name = first?.name ?? choice.context ?? kubeconfig.currentContext
    const { context, cluster, user } = chosenParts(kubeconfig, name, choice)
    const server = serverOf(cluster, kubeconfig)
    first ??= { name, server }
    if (server.href !== first.server.href)
      throw new Error(
        `${where(kubeconfig)} names the server ${server.origin} now; reload Causeway to ask that one`,
      )
    return {
      ...{ name, server, namespace: textIn(context.content, 'namespace') },
      tls: trustOf(cluster),
      proxy: proxyOf(cluster, kubeconfig),
      credential: userCredential(user, cluster, kept),
    }
  }, onTrouble)
  const { name, server, namespace } = parts.current
  return {
    ...{ name, server, namespace },
    get tls() {
      return parts.current.tls
    },
    get proxy() {
      return parts.current.proxy
    },
    credential: {
      get fixed() {
        return parts.current.credential.fixed
      },
      present: async () => await parts.current.credential.present(),
      refused() {
        parts.current.credential.refused()
        parts.lookAgain()
      },
    },
  }
}

function chosenParts(
  kubeconfig: Kubeconfig,
  name: string,
  choice: Omit<KubeconfigChoice, 'path' | 'onTrouble'>,
): Record<'context' | 'cluster' | 'user', NamedPart> {
  if (name === '' && kubeconfig.contexts.size === 0)
    throw new Error(
      `${where(kubeconfig)} names no context; name a kubeconfig that does (--kubeconfig, KUBECONFIG)`,
    )
  if (name === '')
    throw new Error(`${where(kubeconfig)} has no current-context; name one: ${namesOf(kubeconfig.contexts)}`)
  const context = partNamed(kubeconfig, 'contexts', name)
  const cluster = partNamed(kubeconfig, 'clusters', choice.cluster ?? textIn(context.content, 'cluster'))
  const userName = choice.user ?? textIn(context.content, 'user')
  const user = userName === '' ? { ...context, content: {} } : partNamed(kubeconfig, 'users', userName)
  return {
    context,
    cluster: withSettings(cluster, choice.clusterSettings),
    user: withSettings(user, choice.userSettings),
  }
}

/** Applies the overrides, and drops the keys that they replace. */
function withSettings({ content, ...part }: NamedPart, settings: JsonObject = {}): NamedPart {
  const own = Object.entries(settings).map(([key, value]) => [
    key,
    FILES.has(key) && typeof value === 'string' ? resolve(value) : value,
  ])
  const replaced = new Set(Object.keys(settings).flatMap((key) => [key, ...(REPLACES.get(key) ?? [])]))
  const rest = Object.entries(content).filter(([key]) => !replaced.has(key))
  return { ...part, content: Object.fromEntries([...rest, ...own]) as JsonObject }
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
  if (ca !== undefined) cluster.files.doubt(authorityDoubt('the certificate-authority of the kubeconfig', ca))
  return {
    ...(ca && { ca }),
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
function userCredential(user: NamedPart, cluster: NamedPart, kept: KeptCredential): Credential {
  const fixed = fixedCredential(fixedPart(user))
  const changing = changingPart(user, cluster, kept)
  return changing === undefined ? fixed : combinedCredential(fixed, changing)
}

/** Certificate, token, password, and impersonation. */
function fixedPart(user: NamedPart): PresentedCredential {
  const { content } = user
  const cert = fileOrData(user, 'client-certificate')
  const key = fileOrData(user, 'client-key')
  if (cert !== undefined && key !== undefined) user.files.doubt(pairDoubt(cert, key))
  const [token, name, password] = ['token', 'username', 'password'].map((part) => textIn(content, part))
  const basic = Buffer.from(`${name ?? ''}:${password ?? ''}`).toString('base64')
  return {
    headers: {
      ...(name && { authorization: `Basic ${basic}` }),
      ...(token && bearer(token)),
      ...impersonated(content),
    },
    ...(cert && key && { cert, key }),
  }
}

/** The impersonation headers of client-go; none without a user name. */
function impersonated(user: JsonObject): PresentedCredential['headers'] {
  const [as, uid] = [textIn(user, 'as'), textIn(user, 'as-uid')]
  if (as === '') return {}
  const groups = textsIn(user, 'as-groups')
  const extra = objectIn(user, 'as-user-extra')
  const extras = Object.keys(extra).map((key) => [`impersonate-extra-${inHeader(key)}`, textsIn(extra, key)])
  return {
    'impersonate-user': as,
    ...(uid !== '' && { 'impersonate-uid': uid }),
    ...(groups.length > 0 && { 'impersonate-group': groups }),
    ...(Object.fromEntries(extras) as Record<string, string[]>),
  }
}

function textsIn(parent: JsonObject, key: string): string[] {
  return arrayIn(parent, key).filter((value) => typeof value === 'string')
}

/** A key as part of a header name: other bytes are percent-encoded. */
function inHeader(key: string): string {
  const encoded = [...Buffer.from(key)].map((byte) => {
    const character = String.fromCharCode(byte)
    return /[\w!#$&'*+.^`|~-]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  })
  return encoded.join('')
}

/** Why the pair cannot be used, as when one of the two files is not written yet; undefined if it can. */
function pairDoubt(cert: string, key: string): string | undefined {
  if (cert === '' || key === '')
    return `the ${cert === '' ? 'client-certificate' : 'client-key'} of the kubeconfig is empty`
  const fault = pairFault(cert, key)
  return fault && `the client-certificate and client-key of the kubeconfig do not fit: ${fault}`
}

/** Keeps a credential while its settings are unchanged: a plugin's token and a new refresh token are stored nowhere else. */
class KeptCredential {
  #kept: { settings: string; credential: Credential } | undefined

  keep<Settings>(settings: Settings, make: (settings: Settings) => Credential): Credential {
    const text = JSON.stringify(settings)
    if (this.#kept?.settings !== text) this.#kept = { settings: text, credential: make(settings) }
    return this.#kept.credential
  }
}

/** A credential that expires and is renewed. A plugin takes precedence over a file, and a token or a password over it, as in kubectl. */
function changingPart(user: NamedPart, cluster: NamedPart, kept: KeptCredential): Credential | undefined {
  const { content, directory } = user
  const isLoggedIn = textIn(content, 'token') !== '' || textIn(content, 'username') !== ''
  if (Object.hasOwn(content, 'exec') && !isLoggedIn)
    return kept.keep(pluginOf(user, cluster), (plugin) => execCredential(plugin))
  const tokenFile = textIn(content, 'tokenFile')
  if (tokenFile !== '') return tokenFileCredential(resolve(directory, tokenFile))
  const provider = objectIn(content, 'auth-provider')
  const name = textIn(provider, 'name')
  if (name === 'oidc') return kept.keep(oidcUserOf(objectIn(provider, 'config'), directory), oidcCredential)
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
    'certificate-authority-data': Buffer.from(ca ?? '').toString('base64'),
    'proxy-url': textIn(content, 'proxy-url'),
    config: objectIn(extension, 'extension'),
  }
}

function oidcUserOf(content: JsonObject, directory: string): OidcUser {
  const file = textIn(content, 'idp-certificate-authority')
  const data = textIn(content, 'idp-certificate-authority-data')
  return {
    issuer: textIn(content, 'idp-issuer-url'),
    clientId: textIn(content, 'client-id'),
    clientSecret: textIn(content, 'client-secret'),
    idToken: textIn(content, 'id-token'),
    refreshToken: textIn(content, 'refresh-token'),
    caFile: file === '' ? '' : resolve(directory, file),
    caPem: Buffer.from(data, 'base64').toString(),
  }
}

/** A part of a kubeconfig by its name, the folder that its paths are relative to, and what reads them. */
interface NamedPart {
  readonly content: JsonObject
  readonly directory: string
  readonly files: FilesRead
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
function readKubeconfig(paths: readonly string[], files: FilesRead): Kubeconfig {
  const there = paths.filter((path) => files.isThere(path))
  if (there.length === 0)
    throw new Error(`there is no kubeconfig at ${paths.join(', ')}; name one (--kubeconfig, KUBECONFIG)`)
  const clusters = new Map<string, NamedPart>()
  const users = new Map<string, NamedPart>()
  const contexts = new Map<string, NamedPart>()
  let currentContext = ''
  for (const path of there) {
    const content = readFile(path, files)
    currentContext ||= textIn(content, 'current-context')
    const from = { directory: dirname(path), files }
    addParts(clusters, content, 'clusters', 'cluster', from)
    addParts(users, content, 'users', 'user', from)
    addParts(contexts, content, 'contexts', 'context', from)
  }
  return { files: there, currentContext, clusters, users, contexts }
}

/** The text under `<key>-data`, or the contents of the file under `<key>`; undefined if neither is given. */
function fileOrData({ content, directory, files }: NamedPart, key: string): string | undefined {
  const data = textIn(content, `${key}-data`)
  if (data !== '') return Buffer.from(data, 'base64').toString()
  const file = textIn(content, key)
  if (file === '') return undefined
  try {
    return files.read(resolve(directory, file)).toString('utf8')
  } catch (cause) {
    throw new Error(`the kubeconfig's ${key} cannot be read: ${errorText(cause)}`, { cause })
  }
}

function readFile(path: string, files: FilesRead): JsonObject {
  let content: Json
  try {
    content = parse(files.read(path).toString('utf8')) as Json
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
  from: Omit<NamedPart, 'content'>,
): void {
  for (const entry of arrayIn(content, list)) {
    const name = textIn(entry, 'name')
    if (!parts.has(name)) parts.set(name, { ...from, content: objectIn(entry, key) })
  }
}
