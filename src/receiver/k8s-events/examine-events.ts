import { ApiError } from '../../cluster/api-error.ts'
import { discover } from '../../cluster/discovery.ts'
import { troubleText } from '../../cluster/trouble-text.ts'
import { pathOfResource, type WatchedResource } from '../../cluster/watched-resource.ts'
import type { Examined } from '../../config/component-type.ts'
import { adviceOn, rulesFor } from '../clusters/not-seen.ts'
import { openCluster } from '../clusters/open-cluster.ts'
import type { K8sEventsSettings } from './k8s-events-receiver.ts'
import { watchedEvents } from './watched-events.ts'

const LONGEST_MS = 5_000
const FORBIDDEN = 403
const MAX_BYTES = 16_777_216

/** Whether the API server answers, and lets Events be listed and watched. */
export async function* examineEvents(id: string, settings: K8sEventsSettings): AsyncGenerator<Examined> {
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
      message: `${id} does not see the Events of the cluster ${cluster}: ${troubleText(error)}`,
      advice: isForbidden && asked !== undefined ? rulesFor([asked]) : adviceOn(error, settings.authType),
    }
  }
}
