import { existsSync } from 'node:fs'
import { type ClusterAccess, serviceAccountAccess } from '../../src/kube/cluster/cluster-access.ts'
import { kubeconfigAccess, kubeconfigFiles } from '../../src/kube/cluster/kubeconfig.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { ownValue } from '../../src/model/untrusted-names.ts'
import type { Connection } from './kubectl-arguments.ts'

const OF_CLUSTER = ['server', 'certificate-authority', 'tls-server-name'] as const
const OF_USER = ['token', 'username', 'password', 'client-certificate', 'client-key'] as const

/** The cluster and user that kubectl would use. Throws an Error that says why they cannot be determined. */
export function chosenAccess(
  connection: Connection,
  env: Readonly<Record<string, string | undefined>>,
): ClusterAccess {
  const { kubeconfig: path, context, cluster, user } = connection
  const isInPod = env['KUBERNETES_SERVICE_HOST'] !== undefined
  // Connection options mean another cluster or user than those of the Pod's service account.
  const isPlain = Object.keys(connection).length === 0
  if (isPlain && isInPod && !kubeconfigFiles(env).some((file) => existsSync(file)))
    return serviceAccountAccess(undefined, env)
  return kubeconfigAccess({
    ...{ path, context, cluster, user },
    clusterSettings: {
      ...given(connection, OF_CLUSTER),
      ...(/^(?:1|t|true)$/i.test(connection['insecure-skip-tls-verify'] ?? '') && {
        'insecure-skip-tls-verify': true,
      }),
    },
    userSettings: given(connection, OF_USER),
  })
}

function given(connection: Connection, names: readonly (keyof Connection)[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = ownValue(connection, name)
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
