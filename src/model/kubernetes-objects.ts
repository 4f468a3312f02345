import { ownValue } from './untrusted-names.ts'

/** An object as a span names it: `<apiVersion>/<resource>/[<namespace>/]<name>?uid=<uid>&rv=<resourceVersion>`. */
interface ObjectReference {
  /** The part before the question mark. */
  object: string
  uid: string | undefined
  /** The resourceVersion as the integer it is; undefined when absent or no integer of 63 bits. */
  version: bigint | undefined
}

/** `v1`: a version of the core group. Names of groups may begin like it: `v2.edp.epam.com`. */
export const CORE_API_VERSION = /^v\d+(?:(?:alpha|beta)\d+)?$/
const INTEGER = /^\d{1,18}$/
const MAX_LENGTH = 1_024

/** `<apiVersion>/<resource>` of an object reference, with or without what follows a question mark. */
export function kindOfObject(reference: string): string | undefined {
  const parts = reference.split('?', 1).join().split('/')
  const length = CORE_API_VERSION.test(parts[0] ?? '') ? 2 : 3
  const kind = parts.slice(0, length)
  return parts.length > length && kind.every((part) => part !== '') ? kind.join('/') : undefined
}

/** The namespace of an object, given without uid and resourceVersion; a namespace lies in itself. Undefined where it has none. */
export function namespaceOfObject(object: string): string | undefined {
  const parts = object.split('/')
  const within = parts.slice(CORE_API_VERSION.test(parts[0] ?? '') ? 1 : 2)
  if (within.length === 3) return within[1]
  return within.length === 2 && object.startsWith('v1/namespaces/') ? within[1] : undefined
}

/** Reads an object reference; undefined when it does not name a resource and an object of it. */
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

/** An object of a cluster, and which of those that had its name. */
export interface ObjectIdentity {
  /** `v1`, `apps/v1`. */
  readonly apiVersion: string
  /** The plural, as in paths: `pods`. */
  readonly resource: string
  /** Empty for objects of the whole cluster. */
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface OwnerReference {
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** The one that reconciles it. */
  readonly controller: boolean
}

/** Another object that one names in its content: a Service's EndpointSlice its Pods, an autoscaler what it scales. */
export interface ContentReference {
  /** What it is named as; relations ask for it by this name. */
  readonly field: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly uid?: string
  /** What the content says of the other object, to be compared with what versions of that show. */
  readonly says?: string
}

const LIKE = '*'
/** How many characters at the end of a resource have to match, where only the end of its name is known. */
const LIKE_LENGTH = 5

/** Stands for all resources: `parentRef: { name }` does not say what kind of object the parent is. */
export const ANY_KIND = LIKE

/** Stands for all resources that end like this one: `queueName` names a `LocalQueue`. */
export function resourceLike(resource: string): string {
  return LIKE + resource.slice(-LIKE_LENGTH)
}

export function isGuessed(resource: string): boolean {
  return resource.startsWith(LIKE)
}

/** Whether a resource is the one, or ends as it says. */
export function isResourceLike(resource: string, like: string): boolean {
  return resource === like || like === ANY_KIND || resourceLike(resource) === like
}

/** A selector as Kubernetes has it (`metav1.LabelSelector`): what has all these labels and meets all these rules. */
export interface LabelSelector {
  readonly labels: Readonly<Record<string, string>>
  readonly rules: readonly LabelRule[]
}

interface LabelRule {
  readonly key: string
  readonly operator: string
  readonly values: readonly string[]
}

/** Whether an object with these labels is selected. A selector that asks for nothing selects everything. */
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

/** An entry of managedFields: who last set some fields, to the second. */
export interface FieldManager {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
  readonly time: string
  /** How many fields it lists; only of the latest entries, which the same writer may change within their second. */
  readonly extent?: number
  /** It set what holds the object back when that is deleted: finalizers, of which none is one of Kubernetes. */
  readonly holds?: true
}

/**
 * What inference needs to know of one version of an object, and what is shown of it. Nothing else of the object is kept: no data of
 * Secrets, and unless `FieldValues` is `all` no data of ConfigMaps, no environment, no annotation but those that trace changes.
 */
export interface ObjectFacts {
  readonly generation: number
  readonly owners: readonly OwnerReference[]
  readonly references: readonly ContentReference[]
  readonly managers: readonly FieldManager[]
  /** It has a deletionTimestamp: somebody began to delete it. */
  readonly deleting: boolean
  /** Fingerprints of parts of the content by name; equal where the contents are. */
  readonly prints: Readonly<Record<string, string>>
  /** A print of each field that an author set, of objects that no other owns; undefined where there are too many. */
  readonly fields?: string
  /** A short text for each field that an author set, by its path: to show what a write changed. As `FieldValues` says. */
  readonly shown?: Readonly<Record<string, string>>
  /** Its labels, of those kinds that others select by them. */
  readonly labels?: Readonly<Record<string, string>>
  /** What it selects by labels: whatever one of these fits. */
  readonly selects?: readonly LabelSelector[]
  /** Other objects under which it is found, beside its owners: `departed`, a former owner; `freed`, the node that it was on. */
  readonly foundBy?: readonly { readonly uid: string; readonly as: string }[]
  /** `causeway.io/cpid`, when it is a CPID. */
  readonly cpid?: string
  /** `causeway.io/ancestor-cpids`, as it stands there beside a CPID; empty for a change that has none. */
  readonly ancestors?: string
  /** `tracing.k8s.io/traceparent`. */
  readonly traceparent?: string
  /** `causeway.io/write`: if it differs from the version before, this version belongs to the named change, even if that one did too. */
  readonly writeOfChange?: string
}

/** Stands in the fingerprint `closed` of a node, beside its taints, for one that is cordoned. */
export const CORDONED = 'cordoned'

/** The taint that people give to nodes whose Pods are to be taken for gone. */
export const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** A fingerprint by its name; undefined where the object has none of that name. */
export function fingerprintOf({ prints }: ObjectFacts, name: string): string | undefined {
  return ownValue(prints, name)
}

/** Fingerprints that every object has, and `content`, which those have that name a change. */
export const FINGERPRINT = {
  /** All that an author writes: no status, no metadata of the API server. */
  authored: 'authored',
  /** The same without the annotations that name a change; equal to `authored` where there are none. */
  content: 'content',
  /** The status without what only says that its writer lives. */
  status: 'status',
  /** The status with it. */
  heartbeat: 'heartbeat',
} as const

/** Where objects of a resource name another object, as configuration says it. */
export interface CustomReference {
  /** The plural of those that name: `widgets`. */
  readonly resource: string
  /** What relations ask for it by. */
  readonly field: string
  /** Keys from the object down to the name; `*` stands for every entry of a list. */
  readonly path: readonly string[]
  /** Keys down to the namespace; where there are none, the named object is in no namespace or in that of whoever names it. */
  readonly namespacePath?: readonly string[]
  /** The plural of what is named. */
  readonly of: string
}

/**
 * Which values of fields are kept with a version of an object: none, and no names of fields either; those that hold no secrets (numbers,
 * truth values, labels, images and the like), of others only a print; or all that are not called like a secret.
 */
export const FIELD_VALUES = ['none', 'plain', 'all'] as const
export type FieldValues = (typeof FIELD_VALUES)[number]

/** Before the print of a value that is not shown. */
export const HIDDEN_VALUE = '#'

/** What configuration says of how objects are read. */
export interface ReadingRules {
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
  readonly fieldValues: FieldValues
}

export const USUAL_READING: ReadingRules = { references: [], fieldValues: 'plain' }

/**
 * What writes of a resource follow from, in plain settings.
 * Resources are plurals. `on` says of which writes it speaks: `creation`, `authored`, `status`, `deletion`; the first two unless it
 * is there. `by` speaks of one controller's writes alone.
 */
export interface RelationSettings {
  readonly resource: string
  readonly from: 'owner' | NamedSettings
  readonly on?: readonly string[]
  readonly by?: string
}

/** How one object names another: exactly one of label, annotation and field, each of them the place of a name. */
export interface NamedSettings {
  readonly label?: string
  readonly annotation?: string
  /** From the object down: `.spec.shop.name`, `.spec.parts[*].name`. */
  readonly field?: string
  readonly of: string
  /** The place of its namespace, where that is neither the namer's nor none. */
  readonly namespace?: string
}

/** API groups of Kubernetes itself; objects of all others are custom resources. */
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

/** Whether an `apiVersion` is of custom resources: what their controllers read, the table of relations does not say. */
export function isCustomResource(apiVersion: string): boolean {
  const slash = apiVersion.indexOf('/')
  return !OWN_GROUPS.has(slash < 0 ? '' : apiVersion.slice(0, slash))
}

/** How many characters a print of a field's path has, and one of its value. */
export const FIELD_PRINT_LENGTH = 5

/** The prints of the values of fields, by those of their paths. */
export function fieldsOf(prints: string): Map<string, string> {
  const fields = new Map<string, string>()
  for (let at = 0; at < prints.length; at += 2 * FIELD_PRINT_LENGTH)
    fields.set(
      prints.slice(at, at + FIELD_PRINT_LENGTH),
      prints.slice(at + FIELD_PRINT_LENGTH, at + 2 * FIELD_PRINT_LENGTH),
    )
  return fields
}
