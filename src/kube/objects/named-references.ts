import {
  ANY_KIND,
  type ContentReference,
  isCustomResource,
  isGuessed,
  REFERS_BEYOND,
  resourceLike,
} from '../../model/kubernetes-objects.ts'
import {
  isObject,
  type Json,
  type JsonObject,
  namespaceOf,
  objectIn,
  resourceOfKind,
  textIn,
} from './object-json.ts'

/** Kinds that are too numerous, and that operators relate to by ownership. */
const NOT_SEARCHED = new Set([
  'Pod',
  'ReplicaSet',
  'EndpointSlice',
  'Endpoints',
  'Node',
  'ControllerRevision',
])
/** Endings of labels and annotations by which operators name their own objects. */
const NAMING_KEY = /(?:name|instance|owner|cluster|part-of|parent)$/i
/** Labels of a domain name its objects: `example.com/generated-by: rule`. Those of Kubernetes and of Helm do not. */
const OF_A_DOMAIN = /^(?!(?:[-\w.]+\.)?(?:kubernetes\.io|k8s\.io|helm\.sh)\/)[-\w.]+\.[-\w]+\//
/** The last word may be a kind of its objects: `postgresql.example.com/cluster: main`. */
const KIND = /\/([a-z]+)$/
/** Keys of labels and annotations whose values are no object names. */
const NO_NAME_KEY = /(?:chart|version|revision|hash|checksum|managed-by)$/i
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/
/** How an annotation names an object of any namespace; labels have no slashes, and names of namespaces no dots. */
const IN_NAMESPACE = {
  annotations: /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\/([^/]+)$/,
  labels: /^([a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)\.([^/]+)$/,
} as const
const MAX_LABELLED = 16
const MAX_REFERRED = 64
const MAX_DEPTH = 12
/** Content below these fields is copied into other objects, which then carry the reference. */
const COPIED_PARTS = new Set(['template', 'podTemplate', 'containers', 'initContainers', 'metadata'])

/** The references that operators use: labels and annotations, and fields in the `spec`. */
export function namedReferences(object: JsonObject): ContentReference[] {
  if (NOT_SEARCHED.has(textIn(object, 'kind'))) return []
  const isSearched = isCustomResource(textIn(object, 'apiVersion')) || textIn(object, 'kind') === 'Ingress'
  const referred: ContentReference[] = []
  if (isSearched)
    addReferred(
      objectIn(object, 'spec'),
      { path: 'spec', namespace: namespaceOf(object), depth: 0 },
      referred,
    )
  return [...labelled(object), ...referred]
}

/** References by labels and annotations. They name no kind; the reader of the reference knows it. */
function labelled(object: JsonObject): ContentReference[] {
  const metadata = objectIn(object, 'metadata')
  const found: ContentReference[] = []
  for (const place of ['labels', 'annotations'] as const)
    for (const [key, value] of Object.entries(objectIn(metadata, place))) {
      if (found.length >= MAX_LABELLED) return found
      if (typeof value !== 'string' || NO_NAME_KEY.test(key)) continue
      const isOfDomain = place === 'labels' && OF_A_DOMAIN.test(key)
      const [, kind] = KIND.exec(key) ?? []
      if (kind !== undefined && isOfDomain && NAME.test(value))
        found.push({
          field: 'made for',
          resource: guessedResource(kind),
          namespace: namespaceOf(object),
          name: value,
          says: `${place} ${key}`,
        })
      const [, within, called = ''] = IN_NAMESPACE[place].exec(value) ?? []
      const named: [namespace: string, name: string][] = []
      if ((isOfDomain && kind === undefined) || NAMING_KEY.test(key)) {
        const beside = namespaceBeside(key, metadata)
        named.push([beside ?? namespaceOf(object), value])
      }
      if (within !== undefined) named.push([within, called])
      for (const [namespace, name] of named)
        if (NAME.test(name))
          found.push({ field: 'labelled', resource: '', namespace, name, says: `${place} ${key}` })
    }
  return found
}

/** The namespace of the named object, from a second label or annotation: `example.com/claim-namespace` beside `example.com/claim-name`. */
function namespaceBeside(key: string, metadata: JsonObject): string | undefined {
  const keys = [key.replace(/name$/i, 'namespace'), `${key}-namespace`, `${key}.namespace`]
  for (const place of ['labels', 'annotations'])
    for (const beside of keys) {
      const said = beside === key ? '' : textIn(objectIn(metadata, place), beside)
      if (NAME.test(said)) return said
    }
  return undefined
}

interface Place {
  readonly path: string
  readonly namespace: string
  readonly depth: number
}

function addReferred(value: JsonObject, { path, namespace, depth }: Place, to: ContentReference[]): void {
  if (depth > MAX_DEPTH) return
  for (const [key, one] of Object.entries(value)) {
    if (to.length >= MAX_REFERRED || COPIED_PARTS.has(key)) continue
    const at = { path: `${path}.${key}`, namespace, depth: depth + 1 }
    for (const item of Array.isArray(one) ? one : [one]) {
      const found = referenceAt(key, item, at)
      if (found !== undefined && to.length < MAX_REFERRED) to.push(found, ...inNoNamespace(found))
      if (isObject(item)) addReferred(item, at, to)
    }
  }
}

/** A reference of unknown kind may mean a cluster-scoped object: the same reference, without a namespace. */
function inNoNamespace(found: ContentReference): ContentReference[] {
  if (found.namespace === '' || found.uid !== undefined || !isGuessed(found.resource)) return []
  return [{ ...found, field: REFERS_BEYOND, namespace: '' }]
}

/** `issuerRef: { name }`, `workloadRef: { kind, name }`, `secretName: …`, `stableService: …`, `flavors: [{ name }]`. */
function referenceAt(key: string, value: Json, { path, namespace }: Place): ContentReference | undefined {
  const field = 'refers to'
  if (typeof value === 'string') {
    const resource = NAME.test(value) ? resourceOfKey(key) : undefined
    return resource === undefined ? undefined : { field, resource, namespace, name: value, says: path }
  }
  if (!isObject(value)) return undefined
  const [kind, name] = [textIn(value, 'kind'), textIn(value, 'name')]
  const resource = kind === '' ? resourceOfReference(key) : resourceOfKind(kind)
  if (!NAME.test(name)) return undefined
  const [within, uid] = [textIn(value, 'namespace') || namespace, textIn(value, 'uid')]
  return { field, resource, namespace: within, name, says: `${path}.name`, ...(uid !== '' && { uid }) }
}

/** Kinds that a text field refers to if its name ends with them. */
const NAMED_KINDS = [
  ...['Service', 'Secret', 'ConfigMap', 'Ingress', 'ServiceAccount'],
  ...['Deployment', 'StatefulSet', 'DaemonSet'],
]
/** Fields with a name of two or more words: `clusterQueue: team`. */
const OF_TWO_WORDS = /^[a-z]+(?:[A-Z][a-z]+)+$/

function resourceOfKey(key: string): string | undefined {
  const kind = NAMED_KINDS.toReversed().find((one) => key.endsWith(one) || key === one.toLowerCase())
  if (kind !== undefined) return resourceOfKind(kind)
  const named = /^(.+)Name$/.exec(key)?.[1]
  if (named !== undefined) return resourceOfWords(named)
  if (ROLES.test(key)) return ANY_KIND
  return OF_TWO_WORDS.test(key) ? guessedResource(key) : undefined
}

function resourceOfReference(key: string): string {
  const named = /^(.+?)(?:Key)?(?:Ref|Reference|Selector)s?$/.exec(key)?.[1]
  return resourceOfWords(named ?? key)
}

/** Kinds with names of several words, and the default kind of some fields. */
const OF_WORDS: readonly (readonly [end: string, resource: string])[] = [
  ['configmap', 'configmaps'],
  ['serviceaccount', 'serviceaccounts'],
  ['persistentvolumeclaim', 'persistentvolumeclaims'],
  ['claim', 'persistentvolumeclaims'],
  ['scaletarget', 'deployments'],
]
/** Field names that describe a role and not a kind: `targetRef`, `source`. */
const ROLES =
  /^(?:.*[a-z])?(?:app|backend|base|dependency|destination|host|object|origin|owner|parent|resource|source|subject|target|upstream|workload)$/i
/** Kinds of Kubernetes that are referred to by their last word. */
const OF_KUBERNETES = new Set([
  'secret',
  'service',
  'ingress',
  'deployment',
  'job',
  'namespace',
  'node',
  'pod',
])

function resourceOfWords(words: string): string {
  const lower = words.toLowerCase()
  const known = OF_WORDS.find(([end]) => lower.endsWith(end))
  if (known !== undefined) return known[1]
  const last = /[A-Z]?[a-z0-9]+$/.exec(words)?.[0] ?? words
  if (OF_KUBERNETES.has(last.toLowerCase())) return resourceOfKind(last)
  return ROLES.test(words) ? ANY_KIND : guessedResource(words)
}

function guessedResource(words: string): string {
  return resourceLike(/[^s]s$/.test(words) ? words.toLowerCase() : resourceOfKind(words))
}
