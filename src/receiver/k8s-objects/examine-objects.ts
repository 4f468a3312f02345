import type { Examination } from '../../config/component-type.ts'
import {
  acceptOf,
  discover,
  nameOfResource,
  pathOfResource,
  type WatchedResource,
} from '../../kube/cluster/api-resources.ts'
import { ApiError, apiFailureText, type ApiServer } from '../../kube/cluster/api-server.ts'
import {
  adviceForUnreachableCluster,
  missingRoleRules,
  openCluster,
  shortListOf,
} from '../watched-cluster.ts'
import type { K8sObjectsSettings } from './k8s-objects-receiver.ts'
import { followedResources } from './start-k8s-objects.ts'

const LONGEST_MS = 5_000
const FORBIDDEN = 403
/** The largest answer that is read: a list of one object's metadata. */
const MAX_BYTES = 16_777_216
const AT_ONCE = 4

/** Checks that the API server answers, and which of the configured resources it permits to list and watch. */
export async function* examineObjects(id: string, settings: K8sObjectsSettings): AsyncGenerator<Examination> {
  const { cluster } = settings
  try {
    using server = openCluster(id, settings)
    const there = await discover(server, AbortSignal.timeout(LONGEST_MS))
    yield { state: 'ok', message: `${id} reaches the cluster ${cluster} at ${server.address}` }
    const { watched, missing } = followedResources(settings, there)
    for (const message of missing)
      yield {
        state: 'warn',
        message: `${id}: ${message}`,
        advice: `correct receivers::${id}::objects`,
      }
    yield await examineRights(id, server, watched)
  } catch (error) {
    const message = `${id} does not reach the cluster ${cluster}: ${apiFailureText(error)}`
    yield { state: 'fail', message, advice: adviceForUnreachableCluster(error, settings.authType) }
  }
}

async function examineRights(
  id: string,
  server: ApiServer,
  watched: readonly WatchedResource[],
): Promise<Examination> {
  const refused: WatchedResource[] = []
  const failed: string[] = []
  const waiting = [...watched]
  const examineNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const error = await refusalOf(server, next)
      if (error instanceof ApiError && error.status === FORBIDDEN) refused.push(next)
      else if (error !== undefined) failed.push(`${nameOfResource(next)} (${apiFailureText(error)})`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, examineNext))
  if (refused.length > 0)
    return {
      state: refused.length === watched.length ? 'fail' : 'warn',
      message: `${id} may not list and watch ${refused.length} of ${watched.length} resources: ${shortListOf(refused.map(nameOfResource))}`,
      advice: missingRoleRules(refused),
    }
  if (failed.length > 0)
    return {
      state: 'warn',
      message: `${id} does not see ${shortListOf(failed)}`,
      advice: `name under receivers::${id}::objects only resources that exist`,
    }
  return { state: 'ok', message: `${id} may list and watch all ${watched.length} resources` }
}

/** The error of a list or a watch of the resource; undefined when both succeed. */
async function refusalOf(server: ApiServer, watched: WatchedResource): Promise<unknown> {
  const metadata = { ...watched, isMetadataOnly: true }
  try {
    const signal = AbortSignal.timeout(LONGEST_MS)
    const list = pathOfResource(watched, { limit: 1 })
    await server.json(list, MAX_BYTES, { signal, accept: acceptOf(metadata, 'list') })
    const watch = pathOfResource(watched, { watch: true, resourceVersion: '0', timeoutSeconds: 1 })
    const answer = await server.open(watch, { signal, accept: acceptOf(metadata, 'watch') })
    answer.destroy()
    return undefined
  } catch (error) {
    return error
  }
}
