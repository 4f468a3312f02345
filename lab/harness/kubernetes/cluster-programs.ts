import type { CLUSTER_PEERS } from '../../peers/peer-versions.ts'
import type { ClusterFiles } from './cluster-files.ts'
import { SILENT } from './kwok-stages.ts'

export type ClusterProgram = (typeof CLUSTER_PEERS)[number]

/** Where each of them listens, on 127.0.0.1. */
export interface ClusterPorts {
  readonly api: number
  readonly etcd: number
  readonly etcdPeer: number
  readonly controllers: number
  readonly scheduler: number
  readonly kwok: number
}

interface ProgramChoice {
  /** Where etcd keeps its data. */
  readonly data: string
  readonly hasAudit: boolean
  readonly hasAuditWebhook: boolean
  readonly hasTracing: boolean
  readonly apiServerFlags: readonly string[]
}

type Flags = Readonly<Record<string, string | number | boolean>>

const flagsOf = (flags: Flags): string[] => Object.entries(flags).map(([name, value]) => `--${name}=${value}`)

/** The options of each program of a cluster. */
export function clusterPrograms(
  { path, kubeconfig }: ClusterFiles,
  ports: ClusterPorts,
  choice: ProgramChoice,
): Record<Exclude<ClusterProgram, 'kubectl'>, readonly string[]> {
  const at = (port: number): string => `http://127.0.0.1:${port}`
  const asUser = (user: string, port: number): Flags => ({
    kubeconfig: kubeconfig(user),
    'authentication-kubeconfig': kubeconfig(user),
    'authorization-kubeconfig': kubeconfig(user),
    'authentication-tolerate-lookup-failure': true,
    'bind-address': '127.0.0.1',
    'secure-port': port,
    'cert-dir': path('certificates'),
    'leader-elect': false,
  })
  const audit: Flags = {
    'audit-policy-file': path('audit-policy.yaml'),
    'audit-log-path': path('audit.log'),
  }
  const auditWebhook: Flags = {
    'audit-webhook-config-file': path('audit-webhook.kubeconfig'),
    'audit-webhook-batch-max-wait': '1s',
  }
  return {
    etcd: flagsOf({
      'data-dir': choice.data,
      'unsafe-no-fsync': true,
      'listen-client-urls': at(ports.etcd),
      'advertise-client-urls': at(ports.etcd),
      'listen-peer-urls': at(ports.etcdPeer),
      'initial-advertise-peer-urls': at(ports.etcdPeer),
      'initial-cluster': `default=${at(ports.etcdPeer)}`,
      'log-level': 'warn',
    }),
    'kube-apiserver': [
      ...flagsOf({
        'etcd-servers': at(ports.etcd),
        'bind-address': '127.0.0.1',
        'advertise-address': '127.0.0.1',
        'endpoint-reconciler-type': 'none',
        'secure-port': ports.api,
        'cert-dir': path('certificates'),
        'tls-cert-file': path('apiserver.crt'),
        'tls-private-key-file': path('apiserver.key'),
        'token-auth-file': path('tokens.csv'),
        'client-ca-file': path('ca.crt'),
        'authorization-mode': 'Node,RBAC',
        'service-cluster-ip-range': '10.96.0.0/12',
        'service-account-issuer': 'https://kubernetes.default.svc',
        'service-account-key-file': path('accounts.pub'),
        'service-account-signing-key-file': path('accounts.key'),
        profiling: false,
        ...(choice.hasAudit && audit),
        ...(choice.hasAuditWebhook && auditWebhook),
        ...(choice.hasTracing && { 'tracing-config-file': path('tracing.yaml') }),
      }),
      ...choice.apiServerFlags,
    ],
    'kube-controller-manager': flagsOf({
      ...asUser('system:kube-controller-manager', ports.controllers),
      'use-service-account-credentials': true,
      'service-account-private-key-file': path('accounts.key'),
      'root-ca-file': path('ca.crt'),
    }),
    'kube-scheduler': flagsOf(asUser('system:kube-scheduler', ports.scheduler)),
    kwok: flagsOf({
      kubeconfig: kubeconfig('kwok'),
      config: path('stages.yaml'),
      'manage-nodes-with-label-selector': `!${SILENT}`,
      'node-lease-duration-seconds': 40,
      cidr: '10.244.0.0/16',
      'server-address': `127.0.0.1:${ports.kwok}`,
    }),
  }
}
