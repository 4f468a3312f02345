import { ApiServer } from '../../cluster/api-server.ts'
import type { ClusterAccess } from '../../cluster/cluster-access.ts'
import { kubeconfigAccess } from '../../cluster/kubeconfig-access.ts'
import { serviceAccountAccess } from '../../cluster/service-account.ts'
import { errorText } from '../../model/error-text.ts'
import type { AskedCluster } from './cluster-keys.ts'

/** The API server that a receiver is configured with; nothing is asked yet. Throws an Error that says what to correct. */
export function openCluster(id: string, asked: AskedCluster): ApiServer {
  try {
    return new ApiServer(accessOf(asked))
  } catch (cause) {
    throw new Error(`receiver ${id}: ${errorText(cause)}`, { cause })
  }
}

function accessOf({ authType, kubeconfig, context }: AskedCluster): ClusterAccess {
  if (authType === 'serviceAccount') return serviceAccountAccess()
  return kubeconfigAccess({ path: kubeconfig, context })
}
