import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'

/** The user name that kubectl sends with the token. */
export const PROXY_USER = 'causeway'

/** A kubeconfig that only this user may read; disposing removes it. */
export interface TemporaryKubeconfig extends Disposable {
  readonly path: string
}

/**
 * Makes a kubeconfig for a program that reaches a cluster through the proxy on this machine, without credentials of its own. It keeps the
 * server's name, by which kubectl finds its discovery cache. With a `certificate` the proxy is the server, over TLS, with the token in
 * its path. That is for programs that may not support proxies; Go's clients send a token only over TLS.
 */
export function temporaryKubeconfig(
  { name, server, namespace }: ClusterAccess,
  proxy: { port: number; token: string; certificate: string | undefined },
): TemporaryKubeconfig {
  const directory = mkdtempSync(join(tmpdir(), 'causeway-kubectl-'))
  const path = join(directory, 'config')
  const prefix = server.pathname.replace(/\/$/, '')
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [
      {
        name,
        cluster:
          proxy.certificate === undefined
            ? {
                server: `http://${server.host}${prefix}`,
                'proxy-url': `http://${PROXY_USER}:${proxy.token}@127.0.0.1:${proxy.port}`,
              }
            : {
                server: `https://127.0.0.1:${proxy.port}/${proxy.token}${prefix}`,
                'certificate-authority-data': Buffer.from(proxy.certificate).toString('base64'),
              },
      },
    ],
    users: [{ name, user: {} }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace !== '' && { namespace }) } }],
  }
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  try {
    writeFileSync(path, JSON.stringify(content), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    remove()
    throw error
  }
  return { path, [Symbol.dispose]: remove }
}
