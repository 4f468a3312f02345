import {
  ANY_RESOURCE,
  type ClusterObjects,
  EVERY_GROUP,
  type KnownObject,
} from '../../model/inference-store.ts'
import {
  ANY_KIND,
  type ContentReference,
  isCustomResource,
  isGuessed,
  isResourceLike,
  type ObjectIdentity,
  resourceLike,
} from '../../model/kubernetes-objects.ts'

const MAX_OBJECTS = 64
/** The built-in kinds that a reference without a kind can mean. */
const REFERRED_TO = ['services', 'deployments', 'statefulsets', 'daemonsets', 'jobs', 'configmaps', 'secrets']

/** What `claimRef` means, unless the API group of the custom resource has claims of its own. */
export const CLAIMS = 'persistentvolumeclaims'

/** Whether a reference to `named` can mean an object of this resource. */
export function mayMean(named: string, resource: string): boolean {
  return isResourceLike(resource, named === CLAIMS ? resourceLike(CLAIMS) : named)
}

/** What a reference that is called after no known kind can mean: `credentialsRef: { name }`. */
const SETTINGS = ['configmaps', 'secrets']

/** Objects whose labels name this object: by its kind, or, if it is a custom resource, under a key of its domain. */
export function labelledFor(object: ObjectIdentity, objects: ClusterObjects): KnownObject[] {
  const like = { ...object, resource: resourceLike(object.resource) }
  const byKind = objects.naming('made for', ANY_RESOURCE, like, MAX_OBJECTS)
  if (!isCustomResource(object.apiVersion)) return byKind
  const byName = objects
    .naming('labelled', ANY_RESOURCE, { ...object, resource: '' }, MAX_OBJECTS)
    .filter(({ versions: [newest] }) =>
      newest?.facts.references.some(
        (one) => one.field === 'labelled' && one.name === object.name && isOfDomain(one, object),
      ),
    )
  return [...new Map([...byKind, ...byName].map((one) => [one.identity.uid, one])).values()]
}

/** The custom resources that labels name under a key of their own API group: `queue.example.com/name: main`. */
export function namedUnderTheirGroup(
  references: readonly ContentReference[],
  objects: ClusterObjects,
): { object: KnownObject; foundBy: string }[] {
  return references.flatMap(({ field, resource: like, namespace, name, says = '' }) => {
    if (field !== 'labelled' && field !== 'made for') return []
    return objects
      .kindsOf(domainOf(says))
      .filter((kind) => field === 'labelled' || isResourceLike(kind, like))
      .flatMap((kind) => objects.named(kind, namespace, name) ?? objects.named(kind, '', name) ?? [])
      .map((object) => ({ object, foundBy: says }))
  })
}

/** Labels that Kubernetes recommends, which name no kind. */
const INSTANCE = /^labels app\.kubernetes\.io\/(?:instance|part-of)$/

/** The custom resources that labels name: under a key of their API group, or as an instance. */
export function namedByLabels(
  references: readonly ContentReference[],
  objects: ClusterObjects,
): { object: KnownObject; foundBy: string }[] {
  return [...namedUnderTheirGroup(references, objects), ...namedAsInstance(references, objects)]
}

/** Custom resources that labels of `INSTANCE` name, of kinds that no known controller reconciles. */
function namedAsInstance(
  references: readonly ContentReference[],
  objects: ClusterObjects,
): { object: KnownObject; foundBy: string }[] {
  const named = references.filter(({ field, says = '' }) => field === 'labelled' && INSTANCE.test(says))
  if (named.length === 0) return []
  const kinds = objects.kindsOf(EVERY_GROUP).filter((kind) => objects.lookingAfter(kind).length === 0)
  return named.flatMap(({ namespace, name, says = '' }) =>
    kinds.flatMap((kind) => {
      const object = objects.named(kind, namespace, name)
      return object === undefined ? [] : [{ object, foundBy: says }]
    }),
  )
}

/** The domain of a label's key: `queue.example.com` of `labels queue.example.com/name`. */
const domainOf = (says: string): string => /^labels ([^/]+)\//.exec(says)?.[1] ?? ''

/** Kubernetes' own domains. Others have API groups below them as well. */
const SHARED = new Set(['k8s.io', 'kubernetes.io'])

/** Whether the domain of a label's key and the API group of an object belong to one organisation. */
function isOfDomain({ says = '' }: ContentReference, { apiVersion }: ObjectIdentity): boolean {
  const [domain, group] = [domainOf(says), groupOf({ apiVersion })]
  const organisation = group.split('.').slice(-2).join('.')
  if (domain === group) return true
  return !SHARED.has(organisation) && (domain === organisation || domain.endsWith(`.${organisation}`))
}

/** The object that a reference means: by uid, else by its name in its own namespace, in the namespace `ofWrite`, or in none. */
export function objectOf(
  { uid, resource, namespace, name }: ContentReference,
  ofWrite: string,
  objects: ClusterObjects,
): KnownObject | undefined {
  const known = uid === undefined ? undefined : objects.get(uid)
  return (
    known ??
    objects.named(resource, namespace, name) ??
    objects.named(resource, ofWrite, name) ??
    objects.named(resource, '', name)
  )
}

/** The resources that a reference can mean. Without one: those of its object's API group, those that `by` reconciles, and built-in ones. */
export function resourcesOf(
  { resource }: ContentReference,
  { apiVersion }: ObjectIdentity,
  by: string,
  objects: ClusterObjects,
): string[] {
  const ofGroup = objects.kindsOf(groupOf({ apiVersion }))
  if (resource === CLAIMS) return [...ofGroup.filter((kind) => mayMean(CLAIMS, kind)), CLAIMS]
  if (!isGuessed(resource)) return [resource]
  const ofKubernetes = resource === ANY_KIND ? REFERRED_TO : []
  const kinds = [...ofGroup, ...objects.primariesOf(by), ...ofKubernetes]
  const alike = [...new Set(kinds)].filter((kind) => isResourceLike(kind, resource))
  // `issuerRef: { name }` names an Authority where there are no Issuers.
  return alike.length > 0 ? alike : [...ofGroup, ...SETTINGS]
}

export const groupOf = ({ apiVersion }: Pick<ObjectIdentity, 'apiVersion'>): string =>
  apiVersion.slice(0, apiVersion.indexOf('/'))

/** What an object with these references names in its `spec`, and by which field. */
export function namedIn(
  references: readonly ContentReference[],
  identity: ObjectIdentity,
  by: string,
  objects: ClusterObjects,
): { object: KnownObject; foundBy?: string }[] {
  return references
    .filter(({ field }) => field === 'refers to')
    .flatMap((reference) =>
      resourcesOf(reference, identity, by, objects).flatMap((resource) => {
        const object = objectOf({ ...reference, resource }, identity.namespace, objects)
        const { says } = reference
        return object === undefined ? [] : [{ object, ...(says !== undefined && { foundBy: says }) }]
      }),
    )
}
