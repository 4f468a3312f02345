import { ownValue } from './untrusted-names.ts'

/** An object reference in a span: `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>`. */
interface ObjectReference {
  /** The part before the question mark. */
  object: string
  uid: string | undefined
  /** The resourceVersion as an integer; undefined if it is absent or not an integer of 63 bits. */
  version: bigint | undefined
}

/** `v1`: a version of the core group. Names of other groups may begin alike: `v2.edp.epam.com`. */
export const CORE_API_VERSION = /^v\d+(?:(?:alpha|beta)\d+)?$/
const INTEGER = /^\d{1,18}$/
const MAX_LENGTH = 1_024

/** `<apiVersion>/<resource>` of an object reference, with or without query. */
export function kindOfObject(reference: string): string | undefined {
  const parts = reference.split('?', 1).join().split('/')
  const length = CORE_API_VERSION.test(parts[0] ?? '') ? 2 : 3
  const kind = parts.slice(0, length)
  return parts.length > length && kind.every((part) => part !== '') ? kind.join('/') : undefined
}

/** The namespace of an object without uid and resourceVersion; undefined if cluster-scoped. A Namespace is in itself. */
export function namespaceOfObject(object: string): string | undefined {
  const parts = object.split('/')
  const within = parts.slice(CORE_API_VERSION.test(parts[0] ?? '') ? 1 : 2)
  if (within.length === 3) return within[1]
  return within.length === 2 && object.startsWith('v1/namespaces/') ? within[1] : undefined
}

/** Parses an object reference; undefined if it lacks a resource or a name. */
export function parseObjectReference(text: string): ObjectReference | undefined {
  if (text.length > MAX_LENGTH) return undefined
  const [object = '', query = ''] = text.split('?', 2)
  const parts = object.split('/')
  const least = CORE_API_VERSION.test(parts[0] ?? '') ? 3 : 4
  if (parts.length < least || parts.length > least + 1 || parts.includes('')) return undefined
  const values = new URLSearchParams(query)
  const version = values.get('rv') ?? ''
  return {
    object,
    uid: values.get('uid') ?? undefined,
    version: INTEGER.test(version) ? BigInt(version) : undefined,
  }
}

/** An object reference without uid and resourceVersion. */
export function objectOfReference(reference: string): string {
  return reference.split('?', 1)[0] ?? ''
}

/** The identity of an object: its name, and the uid that tells it from other objects of that name. */
export interface ObjectIdentity {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  /** In plural, as in URLs: `pods`. */
  readonly resource: string
  /** '' for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface OwnerReference {
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Whether the owner is the managing controller (`ownerReferences[].controller`). */
  readonly controller: boolean
}

/** An object to which another one refers in its content: an EndpointSlice to Pods, an autoscaler to what it scales. */
export interface ContentReference {
  /** The name of the reference, which relations use. */
  readonly field: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  /** What the content says about the other object; compared with what that object's versions show. */
  readonly says?: string
}

const LIKE = '*'
/** The length of the suffix that has to match if only the end of a resource name is known. */
const LIKE_LENGTH = 5

/** Matches all resources: `parentRef: { name }` does not say the parent's kind. */
export const ANY_KIND = LIKE

/** Matches all resources with the same suffix: `queueName` names a `LocalQueue`. */
export function resourceLike(resource: string): string {
  return LIKE + resource.slice(-LIKE_LENGTH)
}

/** The field of a reference to an object in no namespace, if its kind is not known. */
export const REFERS_BEYOND = 'refers beyond'

export function isGuessed(resource: string): boolean {
  return resource.startsWith(LIKE)
}

/** Whether a resource is the named one, or has the suffix. */
export function isResourceLike(resource: string, like: string): boolean {
  return resource === like || like === ANY_KIND || resourceLike(resource) === like
}

/** A `metav1.LabelSelector`: an object has to have all labels and meet all rules. */
export interface LabelSelector {
  readonly labels: Readonly<Record<string, string>>
  readonly rules: readonly LabelRule[]
}

interface LabelRule {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** Whether a selector matches these labels. An empty selector matches all objects. */
export function isSelectedBy(
  labels: Readonly<Record<string, string>>,
  { labels: asked, rules }: LabelSelector,
): boolean {
  const areThere = Object.entries(asked).every(([key, value]) => ownValue(labels, key) === value)
  return areThere && rules.every((rule) => meets(labels, rule))
}

function meets(labels: Readonly<Record<string, string>>, { key, operator, values }: LabelRule): boolean {
  const value = ownValue(labels, key)
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value)
    case 'NotIn':
      return value === undefined || !values.includes(value)
    case 'Exists':
      return value !== undefined
    case 'DoesNotExist':
      return value === undefined
    default:
      return false
  }
}

/** The manager of programs that send no User-Agent. The API server calls it `unknown`, as Causeway does whoever it does not know. */
export const UNNAMED = 'unnamed'

/** An entry of managedFields: who last set some fields. `time` is in seconds. */
export interface FieldManager {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
  readonly time: string
  /** How many fields the entry has. Only set for the latest entries, to which the same writer may still add fields within that second. */
  readonly extent?: number
  /** Whether it set finalizers, none of which belongs to Kubernetes: they delay the object's deletion. */
  readonly holds?: true
}

/**
 * The parts of an object's version that inference needs and the dashboard shows. Nothing else is stored: no data of Secrets and, unless
 * `FieldValues` is `all`, no data of ConfigMaps, no environment, and only annotations that trace changes.
 */
export interface ObjectFacts {
  readonly generation: number
  readonly owners: readonly OwnerReference[]
  readonly references: readonly ContentReference[]
  readonly managers: readonly FieldManager[]
  /** Whether it has a deletionTimestamp. */
  readonly deleting: boolean
  /** Fingerprints of parts of the content, by name; equal contents have equal fingerprints. */
  readonly prints: Readonly<Record<string, string>>
  /** Fingerprints of the fields that an author set; only for objects without an owner, and undefined if there are too many. */
  readonly fields?: string
  /** For each field that an author set, by its path: a short text that shows its value as `FieldValues` allows. */
  readonly shown?: Readonly<Record<string, string>>
  /** Its labels; only for kinds that others select by labels. */
  readonly labels?: Readonly<Record<string, string>>
  /** Its label selectors: it selects what any of them matches. */
  readonly selects?: readonly LabelSelector[]
  /** Other objects than its owners by which it can be found: `departed`, a former owner; `freed`, the node it was on. */
  readonly foundBy?: readonly { readonly uid: string; readonly as: string }[]
  /** `causeway.io/cpid`, if it is a valid CPID. */
  readonly cpid?: string
  /** `causeway.io/ancestor-cpids`, if there is a CPID as well; '' for a change without ancestors. */
  readonly ancestors?: string
  /** `tracing.k8s.io/traceparent`. */
  readonly traceparent?: string
  /** `causeway.io/write`. If the previous version has another one, this version belongs to the change, even if that one did too. */
  readonly writeOfChange?: string
}

/** An entry of a node's fingerprint `closed`, besides its taints: the node is cordoned. */
export const CORDONED = 'cordoned'

/** The taint by which people declare the Pods of a node gone. */
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** A fingerprint by name; undefined if the object has none. */
export function fingerprintOf({ prints }: ObjectFacts, name: string): string | undefined {
  return ownValue(prints, name)
}

/** The names of fingerprints that all objects have; `content` only those that name a change. */
export const FINGERPRINT = {
  /** Everything that an author writes: without status and without metadata of the API server. */
  authored: 'authored',
  /** `authored` without the annotations that name a change; equal to it if there are none. */
  content: 'content',
  /** The status without heartbeats of its writer. */
  status: 'status',
  /** The status with heartbeats. */
  heartbeat: 'heartbeat',
} as const

/** A field by which objects of a resource refer to another object, from the configuration. */
export interface CustomReference {
  /** The resource that has the field, in plural: `widgets`. */
  readonly resource: string
  /** The name of the reference, which relations use. */
  readonly field: string
  /** The keys from the object to the name; `*` is every element of a list. */
  readonly path: readonly string[]
  /** The keys to the namespace. If absent, the other object is cluster-scoped, or in the same namespace. */
  readonly namespacePath?: readonly string[]
  /** The resource that the field names, in plural. */
  readonly of: string
}

/**
 * Which field values are stored with a version of an object: none, and no field names; those without secrets (numbers, booleans, labels,
 * images and the like), and fingerprints of the others; or all, except of fields whose name suggests a secret.
 */
export const FIELD_VALUES = ['none', 'plain', 'all'] as const
export type FieldValues = (typeof FIELD_VALUES)[number]

/** Marks the fingerprint of a value that is not shown. */
export const HIDDEN_VALUE = '#'

/** Configuration of what is read from objects. */
export interface ReadingRules {
  /** What to read from custom resources, besides what all objects have. */
  readonly references: readonly CustomReference[]
  readonly fieldValues: FieldValues
}

export const USUAL_READING: ReadingRules = { references: [], fieldValues: 'plain' }

/**
 * Which objects the writes of a resource follow from, as configured. Resources are in plural. `on` limits it to kinds of writes
 * (`creation`, `authored`, `status`, `deletion`), the first two by default. `by` limits it to the writes of one controller.
 */
export interface RelationSettings {
  readonly resource: string
  readonly from: 'owner' | NamedSettings
  readonly on?: readonly string[]
  readonly by?: string
}

/** How an object refers to another one: exactly one of label, annotation and field, which holds the name. */
export interface NamedSettings {
  readonly label?: string
  readonly annotation?: string
  /** A path from the object: `.spec.shop.name`, `.spec.parts[*].name`. */
  readonly field?: string
  readonly of: string
  /** Where the namespace is given, unless it is that of the referring object or the other object is cluster-scoped. */
  readonly namespace?: string
}

/** The API groups of Kubernetes itself. Objects of other groups are custom resources. */
const OWN_GROUPS = new Set([
  ...['', 'apps', 'batch', 'autoscaling', 'policy', 'extensions', 'networking.k8s.io', 'storage.k8s.io'],
  ...[
    'rbac.authorization.k8s.io',
    'discovery.k8s.io',
    'admissionregistration.k8s.io',
    'apiextensions.k8s.io',
  ],
  ...['apiregistration.k8s.io', 'certificates.k8s.io', 'coordination.k8s.io', 'events.k8s.io', 'node.k8s.io'],
  ...['flowcontrol.apiserver.k8s.io', 'scheduling.k8s.io', 'resource.k8s.io', 'internal.apiserver.k8s.io'],
])

/** Whether an `apiVersion` is that of custom resources. The built-in relations do not say what their controllers read. */
export function isCustomResource(apiVersion: string): boolean {
  const slash = apiVersion.indexOf('/')
  return !OWN_GROUPS.has(slash < 0 ? '' : apiVersion.slice(0, slash))
}

/** The length in characters of the fingerprint of a field's path, and of its value. */
export const FIELD_PRINT_LENGTH = 5

/** The fingerprints of field values, by the fingerprint of the path. */
export function fieldsOf(prints: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (let at = 0; at < prints.length; at += 2 * FIELD_PRINT_LENGTH)
    fields.set(
      prints.slice(at, at + FIELD_PRINT_LENGTH),
      prints.slice(at + FIELD_PRINT_LENGTH, at + 2 * FIELD_PRINT_LENGTH),
    )
  return fields
}
