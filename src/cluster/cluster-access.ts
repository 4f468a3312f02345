import type { Credential } from './credentials/credential.ts'

/** Where the API server of a cluster is, whom to trust there, and what to show of oneself. */
export interface ClusterAccess {
  /** The context of the kubeconfig, or `in cluster`. */
  readonly name: string
  /** `https://10.0.0.1:6443`, with a path where there is one. */
  readonly server: URL
  readonly tls: ServerTrust
  /** Through which proxy; empty for that of the environment, if there is one. */
  readonly proxy: string
  readonly credential: Credential
  /** The namespace of the context; empty where it names none. */
  readonly namespace: string
}

export interface ServerTrust {
  /** PEM; the machine's authorities where there is none. */
  readonly ca?: string
  /** The name in its certificate, where that is not the one in the address. */
  readonly servername?: string
  readonly rejectUnauthorized?: boolean
}
