import type { Examination } from '../../config/component-type.ts'
import { discover, pathOfResource, type WatchedResource } from '../../kube/cluster/api-resources.ts'
import { ApiError, apiFailureText } from '../../kube/cluster/api-server.ts'
import { adviceForUnreachableCluster, missingRoleRules, openCluster } from '../watched-cluster.ts'
import type { K8sEventsSettings } from './k8s-events-receiver.ts'
import { watchedEvents } from './start-k8s-events.ts'

const LONGEST_MS = 5_000
const FORBIDDEN = 403
const MAX_BYTES = 16_777_216

/** Checks that the API server answers, and permits listing and watching Events. */
export async function* examineEvents(id: string, settings: K8sEventsSettings): AsyncGenerator<Examination> {
  const { cluster, namespaces } = settings
  let asked: WatchedResource | undefined
  try {
    using server = openCluster(id, settings)
    const signal = AbortSignal.timeout(LONGEST_MS)
    const watched = watchedEvents(await discover(server, signal), namespaces)
    for (const one of watched) {
      asked = one
      await server.json(pathOfResource(one, { limit: 1 }), MAX_BYTES, { signal })
      const watch = { watch: true, resourceVersion: '0', timeoutSeconds: 1 }
      const answer = await server.open(pathOfResource(one, watch), { signal })
      answer.destroy()
    }
    yield { state: 'ok', message: `${id} may list and watch the Events of the cluster ${cluster}` }
  } catch (error) {
    const isForbidden = error instanceof ApiError && error.status === FORBIDDEN
    yield {
      state: 'fail',
      message: `${id} does not see the Events of the cluster ${cluster}: ${apiFailureText(error)}`,
      advice:
        isForbidden && asked !== undefined
          ? missingRoleRules([asked])
          : adviceForUnreachableCluster(error, settings.authType),
    }
  }
}
