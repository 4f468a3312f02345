import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isIPv6 } from 'node:net'
import type { ClusterAccess } from './cluster-access.ts'
import { tokenFileCredential } from './credentials/token-file.ts'

/** Where a Pod finds its service account. */
export const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** The cluster that this process is a Pod of. Throws an Error that says what is missing. */
export function serviceAccountAccess(
  directory = SERVICE_ACCOUNT,
  env: Readonly<Record<string, string | undefined>> = process.env,
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (host === undefined || port === undefined)
    throw new Error(
      'KUBERNETES_SERVICE_HOST is not set, so this is no Pod; outside of a cluster write auth_type: kubeConfig',
    )
  return {
    name: 'in cluster',
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    tls: { ca: fileOfAccount(directory, 'ca.crt') },
    proxy: '',
    credential: tokenFileCredential(join(directory, 'token')),
    namespace: '',
  }
}

function fileOfAccount(directory: string, name: string): string {
  try {
    return readFileSync(join(directory, name), 'utf8')
  } catch (cause) {
    const path = join(directory, name)
    throw new Error(
      `${path} cannot be read; let the Pod have its service account (automountServiceAccountToken: true)`,
      { cause },
    )
  }
}
