/** Short names that kubectl knows too (`kubectl api-resources`); other names may be singular or plural. */
const SHORT = new Map(
  Object.entries({
    cm: 'configmaps',
    crd: 'customresourcedefinitions',
    cj: 'cronjobs',
    deploy: 'deployments',
    ds: 'daemonsets',
    ep: 'endpoints',
    hpa: 'horizontalpodautoscalers',
    ing: 'ingresses',
    netpol: 'networkpolicies',
    no: 'nodes',
    ns: 'namespaces',
    pdb: 'poddisruptionbudgets',
    po: 'pods',
    pv: 'persistentvolumes',
    pvc: 'persistentvolumeclaims',
    quota: 'resourcequotas',
    rs: 'replicasets',
    sa: 'serviceaccounts',
    sc: 'storageclasses',
    sts: 'statefulsets',
    svc: 'services',
  }),
)
/** Cluster-scoped resources of Kubernetes. */
const OF_NO_NAMESPACE = new Set([
  ...['nodes', 'namespaces', 'persistentvolumes', 'storageclasses', 'customresourcedefinitions'],
  ...['clusterroles', 'clusterrolebindings', 'priorityclasses', 'ingressclasses'],
])

/** The plural name of a resource, as references have it: `deploy`, `deployment` and `Deployments.apps` are `deployments`. */
export function resourceOf(typed: string): string {
  const [name = ''] = typed.toLowerCase().split('.', 1)
  const short = SHORT.get(name)
  if (short !== undefined) return short
  if (name === 'endpoints' || /[^su]s$/.test(name)) return name
  if (/(?:s|x|ch|sh)$/.test(name)) return name.endsWith('ses') ? name : `${name}es`
  return /[^aeiou]y$/.test(name) ? `${name.slice(0, -1)}ies` : `${name}s`
}

/** The reference of `pod/web-7c9f` or `pod web-7c9f`: `pods/shop/web-7c9f`. Throws an Error that says what to type. */
export function referenceOf(words: readonly string[], namespace: string): string {
  const parts = words.length === 1 ? (words[0] ?? '').split('/') : words
  const [kind = '', name = '', more] = parts
  if (kind === '' || name === '' || more !== undefined || kind.includes('/'))
    throw new Error(`"${words.join(' ')}" names no object; write <kind>/<name>, such as deployment/web`)
  const resource = resourceOf(kind)
  return OF_NO_NAMESPACE.has(resource) ? `${resource}/${name}` : `${resource}/${namespace}/${name}`
}

/** The short form of `apps/v1/deployments/shop/web?uid=…`: `deployment/web`, with the namespace if it is not the given one. */
export function shortReference(reference: string, namespace: string): string {
  const [path = ''] = reference.split('?', 1)
  const parts = path.split('/')
  const version = parts.findIndex((part) => /^v\d+(?:(?:alpha|beta)\d+)?$/.test(part))
  const [resource = '', ...names] = parts.slice(version + 1)
  const name = names.at(-1) ?? ''
  const within = names.length > 1 && names[0] !== namespace ? ` in ${names[0] ?? ''}` : ''
  return `${singular(resource)}/${name}${within}`
}

function singular(resource: string): string {
  if (resource === 'endpoints') return resource
  if (resource.endsWith('ies')) return `${resource.slice(0, -3)}y`
  if (/(?:sses|xes|ches|shes)$/.test(resource)) return resource.slice(0, -2)
  return resource.replace(/s$/, '')
}
