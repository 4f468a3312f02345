import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { parse } from 'yaml'
import { KubeApi } from './kube-api.ts'

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: { readonly token: string } }]
}

/** The API server of a kubeconfig with one cluster and one user that has a token. */
export function apiOfKubeconfig(path: string, userAgent: string): KubeApi {
  const { clusters, users } = parse(readFileSync(path, 'utf8')) as Kubeconfig
  const { server = '', ...cluster } = clusters[0].cluster
  const packed = cluster['certificate-authority-data']
  const file = cluster['certificate-authority']
  const ca =
    packed === undefined ? readFileSync(file ?? '', 'utf8') : Buffer.from(packed, 'base64').toString()
  const agent = new Agent({ keepAlive: true })
  return new KubeApi(Number(new URL(server).port), ca, users[0].user.token, agent, userAgent)
}
