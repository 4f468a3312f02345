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
  'The name of the cluster. It becomes the attribute `k8s.cluster.name`. Receivers with the same name observe the same cluster, and what they see is combined.',
)

/** The keys of a receiver that asks an API server. */
export const clusterKeys = {
  cluster: clusterName,
  auth_type: field(
    choice(['serviceAccount', 'kubeConfig']),
    'serviceAccount',
    'How Causeway logs in to the API server. `serviceAccount` uses the service account of Causeway’s Pod. `kubeConfig` uses a kubeconfig as kubectl does, with certificates, tokens, plugins or OIDC.',
  ),
  kubeconfig: optionalField(
    TEXT,
    'The path of the kubeconfig for `auth_type: kubeConfig`. The default is the kubeconfig that kubectl would use.',
  ),
  context: optionalField(TEXT, 'The context in the kubeconfig. The default is the current context.'),
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
