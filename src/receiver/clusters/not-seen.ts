import { ApiError } from '../../cluster/api-error.ts'
import { NoApiServer } from '../../cluster/api-server.ts'
import { isCertificateTrouble } from '../../cluster/trouble-text.ts'
import type { WatchedResource } from '../../cluster/watched-resource.ts'
import type { AskedCluster } from './cluster-keys.ts'

const UNAUTHORIZED = 401
const FORBIDDEN = 403
const TOO_MANY = 429
const SERVER_FAULT = 500
const NAMED = 5

/** What to do where a cluster cannot be asked. */
export function adviceOn(error: unknown, authType: AskedCluster['authType']): string {
  const isPod = authType === 'serviceAccount'
  const access = isPod ? 'its service account' : 'kubeconfig and context'
  const isOther = error instanceof ApiError && !error.isStatus && error.status < SERVER_FAULT
  if (isOther || error instanceof NoApiServer)
    return `see what it asks: ${isPod ? 'KUBERNETES_SERVICE_HOST is' : 'the server in the kubeconfig is'} no API server`
  if (isCertificateTrouble(error))
    return `name who signed it in ${isPod ? 'ca.crt of its service account' : 'certificate-authority of the kubeconfig'}, or correct the server`
  if (!(error instanceof ApiError))
    return `start the API server, or correct ${access}; nothing is seen meanwhile`
  if (error.status === UNAUTHORIZED)
    return isPod
      ? 'let the Pod have its service account (automountServiceAccountToken: true)'
      : `log in again as for kubectl and start Causeway anew, or correct ${access}`
  if (error.status === FORBIDDEN)
    return 'let it ask which resources there are: bind it to the ClusterRole system:discovery'
  if (error.status === TOO_MANY || error.status >= SERVER_FAULT)
    return 'see how the API server is; it is asked again until it answers'
  return `correct ${access}`
}

/** A few of several names, those without a domain first (`v1/pods`, `apps/v1/deployments`), and how many more there are. */
export function shortListOf(names: readonly string[]): string {
  const [plain, others] = [false, true].map((isOther) =>
    names.filter((name) => name.includes('.') === isOther),
  )
  const sorted = [...(plain ?? []).sort(), ...(others ?? []).sort()]
  if (sorted.length <= NAMED + 1) return sorted.join(', ')
  return `${sorted.slice(0, NAMED).join(', ')} and ${sorted.length - NAMED} more`
}

/** What to add to whoever may not list and watch these: lines of a role, in YAML's short form. */
export function rulesFor(refused: readonly WatchedResource[]): string {
  const namespaces = new Set(refused.map(({ namespace }) => namespace))
  const role = namespaces.has('') ? 'ClusterRole' : `Role in ${shortListOf([...namespaces])}`
  const byGroup = Map.groupBy(refused, ({ apiVersion }) => apiVersion.split('/').slice(0, -1).join(''))
  const rules = [...byGroup]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([group, all]) => {
      const resources = [...new Set(all.map(({ resource }) => resource))].sort().join(', ')
      return `- { apiGroups: ["${group}"], resources: [${resources}], verbs: [list, watch] }`
    })
  return `add to the rules of its ${role}:${rules.length === 1 ? ' ' : '\n'}${rules.join('\n')}`
}
