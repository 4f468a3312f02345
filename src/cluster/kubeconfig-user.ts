import { resolve, sep } from 'node:path'
import { arrayIn, booleanIn, objectIn, textIn, type JsonObject } from '../kubernetes/json-access.ts'
import {
  bearer,
  bothCredentials,
  fixedCredential,
  type Credential,
  type Presented,
} from './credentials/credential.ts'
import { execCredential, type ExecPlugin } from './credentials/exec-plugin.ts'
import { oidcCredential } from './credentials/oidc-token.ts'
import { tokenFileCredential } from './credentials/token-file.ts'
import { fileOrData, type NamedPart } from './kubeconfig-files.ts'

const PLUGIN_VERSIONS = new Set(['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'])
/** What plugins are told of a cluster is kept there by whoever wrote the kubeconfig. */
const PLUGIN_CONFIG = 'client.authentication.k8s.io/exec'

/** By what a user of a kubeconfig is known to the API server. Throws an Error that says what cannot be used. */
export function userCredential(user: NamedPart, cluster: NamedPart): Credential {
  const fixed = fixedCredential(fixedPart(user))
  const changing = changingPart(user, cluster)
  return changing === undefined ? fixed : bothCredentials(fixed, changing)
}

/** Certificate, token, password, and as whom. */
function fixedPart(user: NamedPart): Presented {
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

/** What runs out and is obtained anew; a plugin counts before a file. */
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
    // Found on the PATH, unless it says where it is.
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
