import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClusterAccess } from '../../src/kube/cluster/cluster-access.ts'

/** As whom kubectl shows the token. */
export const PROXY_USER = 'causeway'

/** A kubeconfig that nobody else may read; disposing removes it. */
export interface TemporaryKubeconfig extends Disposable {
  readonly path: string
}

/**
 * A kubeconfig by which a program speaks with a cluster through a proxy on this machine, in the clear and without credentials of its
 * own. It keeps the server's name, by which kubectl finds what it remembers of a cluster. With `isServer` the proxy is the
 * server, and the token is in its path: for programs that may not know proxies, and show no other secret where nothing is encrypted.
 */
export function temporaryKubeconfig(
  { name, server, namespace }: ClusterAccess,
  proxy: { port: number; token: string; isServer: boolean },
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
        cluster: proxy.isServer
          ? { server: `http://127.0.0.1:${proxy.port}/${proxy.token}${prefix}` }
          : {
              server: `http://${server.host}${prefix}`,
              'proxy-url': `http://${PROXY_USER}:${proxy.token}@127.0.0.1:${proxy.port}`,
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
