import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { createSecureContext } from 'node:tls'
import { errorText } from '../../model/faults.ts'
import { readNamedFile } from '../../platform/named-file.ts'
import { faultOfAuthorities } from '../../platform/tls.ts'
import { type Json, type JsonObject, objectIn, textIn } from '../objects/object-json.ts'
import { http } from './api-server.ts'
import { type FilesRead, FilesInUse, type FilesTrouble } from './files-in-use.ts'

/** How to reach the API server of a cluster, which certificates to trust, and which credential to present. */
export interface ClusterAccess {
  /** The context of the kubeconfig, or `in cluster`. */
  readonly name: string
  /** `https://10.0.0.1:6443`, with a path if there is one. */
  readonly server: URL
  /** From the current contents of its files; so is `proxy`. */
  readonly tls: ServerTrust
  /** The proxy to use; empty for the one of the environment, if any. */
  readonly proxy: string
  readonly credential: Credential
  /** The namespace of the context; empty if it names none. */
  readonly namespace: string
}

export interface ServerTrust {
  /** PEM; by default the machine's certificate authorities. */
  readonly ca?: string
  /** The name in its certificate, if that differs from the one in the address. */
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}

/** Where a Pod finds its service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The cluster that this process runs in as a Pod. Throws an Error that says what is missing. */
export function serviceAccountAccess(
  directory = SERVICE_ACCOUNT,
  env: Readonly<Record<string, string | undefined>> = process.env,
  onTrouble?: FilesTrouble,
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (host === undefined || port === undefined)
    throw new Error(
      'KUBERNETES_SERVICE_HOST is not set, so this is no Pod; outside of a cluster write auth_type: kubeConfig',
    )
  const trust = new FilesInUse((files) => ({ ca: authorityOfAccount(directory, files) }), onTrouble)
  return {
    name: 'in cluster',
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    get tls() {
      return trust.current
    },
    proxy: '',
    credential: tokenFileCredential(join(directory, 'token')),
    namespace: '',
  }
}

function authorityOfAccount(directory: string, files: FilesRead): string {
  const path = join(directory, 'ca.crt')
  let ca: string
  try {
    ca = files.read(path).toString('utf8')
  } catch (cause) {
    throw new Error(
      `${path} cannot be read; let the Pod have its service account (automountServiceAccountToken: true)`,
      { cause },
    )
  }
  files.doubt(authorityDoubt(path, ca))
  return ca
}

/** Why a CA bundle would not be trusted in full; undefined if it is usable. */
export function authorityDoubt(what: string, ca: string): string | undefined {
  const fault = faultOfAuthorities(ca)
  return fault === undefined ? undefined : `${what} has ${fault}`
}

/** What a request presents to authenticate. */
export interface PresentedCredential {
  readonly headers: Readonly<Record<string, string | string[]>>
  /** A client certificate and its key, PEM. */
  readonly cert?: string
  readonly key?: string
}

/** A source of credentials. Tokens expire, and so do certificates from plugins. */
export interface Credential {
  /** The credential, if it need not be obtained. */
  readonly fixed?: PresentedCredential | undefined
  /** The current credential, renewed if it has expired. Rejects with what to do. */
  present(): Promise<PresentedCredential>
  /** The API server refused it: a cached credential is not used again. */
  refused(): void
}

/** A credential that never changes: certificates, a token or a password of a kubeconfig, or none at all. */
export function fixedCredential(presented: PresentedCredential): Credential {
  return { fixed: presented, present: () => Promise.resolve(presented), refused: () => undefined }
}

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

/** Presents both credentials, each of which has a part. */
export function combinedCredential(one: Credential, other: Credential): Credential {
  return {
    async present() {
      const [first, second] = await Promise.all([one.present(), other.present()])
      return { ...first, ...second, headers: { ...first.headers, ...second.headers } }
    },
    refused() {
      one.refused()
      other.refused()
    },
  }
}

/** A token that another process keeps fresh, as a kubelet does for Pods. It is read for every request. */
export function tokenFileCredential(path: string): Credential {
  return {
    // Synchronous: the file is short, and a read that blocks would occupy one of libuv's few threads.
    present() {
      try {
        return Promise.resolve({ headers: bearer(readNamedFile(path).toString('utf8').trim()) })
      } catch (cause) {
        const reason = `the token in ${path} cannot be read: ${errorText(cause)}`
        return Promise.reject(new Error(reason, { cause }))
      }
    },
    refused: () => undefined,
  }
}

/** A program that prints credentials (client.authentication.k8s.io), as a kubeconfig names it. */
export interface ExecPlugin {
  readonly apiVersion: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** The vendor's hint for users who do not have the program. */
  readonly installHint: string
  /** The cluster information that it gets; only if it asks for that. */
  readonly cluster?: JsonObject
}

interface ExecLimits {
  readonly timeoutMs: number
  readonly nowMs: () => number
}

const USUAL_LIMITS: ExecLimits = { timeoutMs: 60_000, nowMs: () => Date.now() }
const MAX_OUTPUT_BYTES = 1_048_576
const MAX_COMPLAINT = 500
const isWindows = process.platform === 'win32'

/** Runs the plugin when there is no credential or it has expired. Concurrent callers share one run. */
export function execCredential(plugin: ExecPlugin, limits = USUAL_LIMITS): Credential {
  let held: { presented: PresentedCredential; untilMs: number } | undefined
  let running: Promise<PresentedCredential> | undefined
  const obtain = async (): Promise<PresentedCredential> => {
    held = readCredential(plugin, await run(plugin, limits.timeoutMs))
    return held.presented
  }
  return {
    present() {
      if (held !== undefined && held.untilMs > limits.nowMs()) return Promise.resolve(held.presented)
      running ??= obtain().finally(() => (running = undefined))
      return running
    },
    refused: () => (held = undefined),
  }
}

async function run(plugin: ExecPlugin, timeoutMs: number): Promise<string> {
  let child: PluginProcess | undefined
  const kill = (): void => {
    try {
      if (child?.pid !== undefined) process.kill(isWindows ? child.pid : -child.pid, 'SIGKILL')
    } catch {
      // Every process of the group has ended.
    }
  }
  // Before the start: a signal in between would leave the plugin running.
  noteRunning(kill)
  try {
    child = start(plugin)
    return await outputOf(child, { plugin, timeoutMs, kill })
  } finally {
    noteEnded(kill)
  }
}

type PluginProcess = ChildProcessByStdio<null, Readable, Readable>

function start({ apiVersion, command, args, env, cluster }: ExecPlugin): PluginProcess {
  const spec = { interactive: false, ...(cluster !== undefined && { cluster }) }
  const told = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec })
  return spawn(command, args, {
    env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: told },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that the plugin can be killed with its children.
    detached: !isWindows,
  })
}

interface Running {
  readonly plugin: ExecPlugin
  readonly timeoutMs: number
  readonly kill: () => void
}

async function outputOf(
  child: PluginProcess,
  { plugin: { command, installHint }, timeoutMs, kill }: Running,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  let complaint = ''
  const end = (why: string): void => {
    kill()
    child.stdout.destroy()
    child.stderr.destroy()
    reject(new Error(`the credential plugin ${command} ${why} and was ended: ${complaint.trim()}`))
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.length > MAX_OUTPUT_BYTES) end(`printed more than ${MAX_OUTPUT_BYTES} bytes`)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT)
  })
  child.on('error', (error) => {
    const hint = installHint === '' ? '' : `; ${installHint.trim()}`
    reject(new Error(`the credential plugin ${command} cannot be run: ${errorText(error)}${hint}`))
  })
  child.on('close', (code, signal) => {
    if (code === 0) resolve(output)
    else {
      const how = signal === null ? `with ${code ?? 'an error'}` : `by ${signal}`
      reject(new Error(`the credential plugin ${command} ended ${how}: ${complaint.trim()}`))
    }
  })
  const late = setTimeout(() => end(`took longer than ${timeoutMs / 1_000} s`), timeoutMs)
  return await promise.finally(() => clearTimeout(late))
}

/** Kills each running plugin. Ctrl-C does not reach them, since each is in a process group of its own. */
const running = new Set<() => void>()
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

function noteRunning(kill: () => void): void {
  if (running.size === 0) {
    process.on('exit', endAll)
    for (const signal of ENDING) process.on(signal, endWith)
  }
  running.add(kill)
}

function noteEnded(kill: () => void): void {
  running.delete(kill)
  if (running.size > 0) return
  process.off('exit', endAll)
  for (const signal of ENDING) process.off(signal, endWith)
}

function endAll(): void {
  for (const kill of running) kill()
}

/** Ends the plugins; if there is no other listener, the signal then ends this process, as it would without this one. */
function endWith(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  endAll()
  process.off(signal, endWith)
  process.kill(process.pid, signal)
}

function readCredential(
  { command, apiVersion }: ExecPlugin,
  output: string,
): { presented: PresentedCredential; untilMs: number } {
  const printed = parse(command, output)
  const says = textIn(printed, 'apiVersion')
  if (says !== apiVersion)
    throw new Error(
      `the credential plugin ${command} answers in ${says || 'nothing'} instead of ${apiVersion}`,
    )
  const status = objectIn(printed, 'status')
  const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((name) =>
    textIn(status, name),
  )
  if (!token && !(cert && key))
    throw new Error(`the credential plugin ${command} printed neither a token nor a certificate with its key`)
  // Such a token fits into no request, so no API server would refuse it, and it would be cached until it expires.
  if (token && !isHeaderValue(token))
    throw new Error(`the credential plugin ${command} printed a token that fits into no header`)
  const fault = cert && key ? pairFault(cert, key) : undefined
  if (fault !== undefined)
    throw new Error(
      `the credential plugin ${command} printed a certificate and key that do not fit: ${fault}`,
    )
  const until = Date.parse(textIn(status, 'expirationTimestamp'))
  return {
    presented: { headers: token ? bearer(token) : {}, ...(cert && key && { cert, key }) },
    untilMs: Number.isNaN(until) ? Number.POSITIVE_INFINITY : until,
  }
}

function isHeaderValue(token: string): boolean {
  try {
    http.validateHeaderValue('authorization', token)
    return true
  } catch {
    return false
  }
}

/** Why a certificate and its key cannot be used; undefined if they can. */
export function pairFault(cert: string, key: string): string | undefined {
  try {
    createSecureContext({ cert, key })
    return undefined
  } catch (error) {
    return errorText(error)
  }
}

function parse(command: string, output: string): Json {
  try {
    return JSON.parse(output) as Json
  } catch {
    throw new Error(`the credential plugin ${command} printed no ExecCredential`)
  }
}

/** The `oidc` provider of a kubeconfig. Missing settings are empty texts. */
export interface OidcUser {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly idToken: string
  readonly refreshToken: string
  /** The certificate authority of the issuer, PEM: a file or the text itself. */
  readonly caFile: string
  readonly caPem: string
}

/** A token that expires within this time counts as expired. */
const LEEWAY_MS = 10_000

/**
 * The id token of the kubeconfig, refreshed at its issuer when it expires. A new refresh token is kept in memory only: the file is not
 * written.
 */
export function oidcCredential(user: OidcUser): Credential {
  let { idToken, refreshToken } = user
  let running: Promise<string> | undefined
  const refresh = async (): Promise<string> => {
    if (refreshToken === '' || user.issuer === '')
      throw new Error('the id token ran out, and the kubeconfig has nothing to refresh it with; log in again')
    try {
      ;({ idToken, refreshToken } = await askIssuer(user, refreshToken))
    } catch (error) {
      throw new Error(`${user.issuer} gives no new token: ${issuerFailure(error)}; log in again`, {
        cause: error,
      })
    }
    return idToken
  }
  return {
    async present() {
      if (expiryMs(idToken) > Date.now() + LEEWAY_MS) return { headers: bearer(idToken) }
      running ??= refresh().finally(() => (running = undefined))
      return { headers: bearer(await running) }
    },
    refused: () => (idToken = ''),
  }
}

async function askIssuer(
  user: OidcUser,
  refreshToken: string,
): Promise<{ idToken: string; refreshToken: string }> {
  const client = await import('openid-client')
  const { fetchTrusting } = await import('./oidc-fetch.ts')
  const ca = user.caFile === '' ? user.caPem : readNamedFile(user.caFile).toString('utf8')
  const options = { [client.customFetch]: fetchTrusting(ca === '' ? undefined : ca) }
  const issuer = new URL(user.issuer)
  const secret = user.clientSecret === '' ? undefined : user.clientSecret
  const configuration = await client.discovery(issuer, user.clientId, secret, undefined, options)
  const answer = await client.refreshTokenGrant(configuration, refreshToken)
  if (answer.id_token === undefined) throw new Error('its answer holds no id token')
  return { idToken: answer.id_token, refreshToken: answer.refresh_token ?? refreshToken }
}

/** The library's error for an unreachable issuer is unspecific; its cause has the reason. */
function issuerFailure(error: unknown): string {
  return errorText(error instanceof Error && error.cause instanceof Error ? error.cause : error)
}

/** When a token expires; 0 if it has no `exp`. This is not a trust decision: the API server verifies the token. */
function expiryMs(token: string): number {
  const [, claims = ''] = token.split('.')
  try {
    const { exp } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { exp?: unknown }
    return typeof exp === 'number' ? exp * 1_000 : 0
  } catch {
    return 0
  }
}
