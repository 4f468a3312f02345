import {
  field,
  optionalField,
  refusedKeys,
  requiredField,
  type SettingsOf,
  type Shape,
  withoutUndefined,
} from '../config/schema.ts'
import { choice, TEXT } from '../config/value-kinds.ts'

/** Which cluster a receiver asks, and as whom. */
export interface AskedCluster {
  /** The name of the cluster, sent as `k8s.cluster.name`. */
  readonly cluster: string
  readonly authType: 'kubeConfig' | 'serviceAccount'
  readonly kubeconfig?: string
  readonly context?: string
}

export const clusterName = requiredField(
  TEXT,
  'production',
  'The name of the cluster, which becomes `k8s.cluster.name`. Receivers of one cluster work as one.',
)

/** The keys of a receiver that asks an API server. */
export const clusterKeys = {
  cluster: clusterName,
  auth_type: field(
    choice(['serviceAccount', 'kubeConfig']),
    'serviceAccount',
    '`serviceAccount`: that of the Pod. `kubeConfig`: as kubectl does, with certificates, tokens, plugins and OIDC.',
  ),
  kubeconfig: optionalField(
    TEXT,
    'The kubeconfig, with `auth_type: kubeConfig`; the one that kubectl would use unless named.',
  ),
  context: optionalField(TEXT, 'Its context; the current one unless named.'),
  ...refusedKeys('write the TLS settings into a kubeconfig, and auth_type: kubeConfig', 'tls'),
  ...refusedKeys('write auth_type: kubeConfig and kubeconfig: <path>', 'kube_config_path'),
} satisfies Shape

type ClusterSettings = { [K in keyof typeof clusterKeys]: SettingsOf<(typeof clusterKeys)[K]> }

/** `kubeconfig` and `context` are rejected where `auth_type` does not use them. */
export function kubeconfigRule({
  auth_type,
  kubeconfig,
  context,
}: Pick<ClusterSettings, 'auth_type' | 'kubeconfig' | 'context'>):
  { key: string; message: string } | undefined {
  if (auth_type === 'kubeConfig') return undefined
  const message = 'is used with auth_type: kubeConfig alone; write that as well, or remove it'
  if (kubeconfig !== undefined) return { key: 'kubeconfig', message }
  return context === undefined ? undefined : { key: 'context', message }
}

export function buildAskedCluster(
  settings: Pick<ClusterSettings, 'cluster' | 'auth_type' | 'kubeconfig' | 'context'>,
): AskedCluster {
  const { cluster, auth_type: authType, kubeconfig, context } = settings
  return { cluster, authType, ...withoutUndefined({ kubeconfig, context }) }
}
