import type { ApiResource } from '../../cluster/discovery.ts'
import type { WatchedResource } from '../../cluster/watched-resource.ts'

const GROUPS = ['events.k8s.io', '']
const EVERY_NAMESPACE = ['']

/** The Events to watch: as events.k8s.io has them, which tells of series, else as the core does; none where neither is there. */
export function watchedEvents(
  there: readonly ApiResource[],
  namespaces: readonly string[],
): WatchedResource[] {
  const found = GROUPS.flatMap((wanted) =>
    there.filter(({ group, resource }) => group === wanted && resource === 'events'),
  )
  const [best] = found.filter(({ verbs }) => verbs.includes('list') && verbs.includes('watch'))
  if (best === undefined) return []
  const { apiVersion, resource, kind } = best
  return (namespaces.length > 0 ? namespaces : EVERY_NAMESPACE).map((namespace) => ({
    ...{ apiVersion, resource, kind, namespace },
    ...{ labelSelector: '', fieldSelector: '', isMetadataOnly: false },
  }))
}
