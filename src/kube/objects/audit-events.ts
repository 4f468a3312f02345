import { type ReadingRules, USUAL_READING } from '../../model/kubernetes-objects.ts'
import type {
  Actor,
  ApiRequest,
  AuditedRequest,
  SkipReason,
  Verb,
} from '../../model/kubernetes-observations.ts'
import { parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import {
  arrayIn,
  type Json,
  type JsonObject,
  numberIn,
  objectIn,
  parseResourceVersion,
  reasonNotTraced,
  textIn,
} from './object-json.ts'
import { readObjectFacts } from './observations.ts'

const CREATED = 201
const AUDITED_VERBS: readonly string[] = ['create', 'update', 'patch', 'delete']
/** Subresources whose requests do not themselves make a version of the object. */
const NOT_STORED = new Set(['token', 'log', 'exec', 'attach', 'portforward', 'proxy'])

/** Deletes all objects of a resource, or those that a selector matches. */
const OF_COLLECTION = 'deletecollection'
/** Objects of a larger collection are matched by their deletion time only: this bounds how many requests one event becomes. */
const MAX_COLLECTION = 5_000

/**
 * Reads the accepted writes from an event of an audit log or webhook (`audit.k8s.io/v1`). The deletion of a collection is one write for
 * each object that its answer lists, or one without a name where the policy keeps no answers.
 */
export function readAuditEvents(
  event: JsonObject,
  rules: ReadingRules = USUAL_READING,
): readonly AuditedRequest[] | SkipReason {
  const isCollection = textIn(event, 'verb') === OF_COLLECTION
  const one = isCollection ? { ...event, verb: 'delete', responseObject: {} } : event
  const read = readAuditEvent(one, rules)
  if (typeof read === 'string') return read
  const answer = objectIn(event, 'responseObject')
  if (!isCollection || !Array.isArray(answer.items) || answer.items.length > MAX_COLLECTION) return [read]
  const asked = objectIn(event, 'requestObject')
  const deletions: AuditedRequest[] = []
  for (const item of answer.items) {
    const metadata = objectIn(item, 'metadata')
    // The namespace controller repeats its requests while objects terminate.
    if (textIn(metadata, 'uid') === '' || textIn(metadata, 'deletionTimestamp') !== '') continue
    const object = { ...read.object, name: textIn(metadata, 'name'), uid: textIn(metadata, 'uid') }
    deletions.push({ ...read, object, gone: isDeletedAtOnce(item, asked) })
  }
  return deletions.length === 0 ? 'no_object' : deletions
}

/** Whether the deletion removes this item at once. Otherwise it waits for finalizers, or, for a Pod on a node, for the kubelet. */
function isDeletedAtOnce(item: Json, asked: JsonObject): boolean {
  const isHeld = arrayIn(objectIn(item, 'metadata'), 'finalizers').length > 0
  const isKept = ['Foreground', 'Orphan'].includes(textIn(asked, 'propagationPolicy'))
  // The API server gives no grace period to a Pod that has ended.
  const hasEnded = ['Succeeded', 'Failed'].includes(textIn(objectIn(item, 'status'), 'phase'))
  const hasKubelet =
    textIn(objectIn(item, 'spec'), 'nodeName') !== '' && !hasEnded && asked.gracePeriodSeconds !== 0
  return !isHeld && !isKept && !hasKubelet
}

/** Reads an accepted write of one object. */
export function readAuditEvent(
  event: JsonObject,
  rules: ReadingRules = USUAL_READING,
): AuditedRequest | SkipReason {
  if (textIn(event, 'stage') !== 'ResponseComplete') return 'stage'
  const asks = textIn(event, 'verb')
  if (!isVerb(asks)) return 'read'
  const code = numberIn(objectIn(event, 'responseStatus'), 'code')
  if (code < 200 || code >= 300) return 'failed'
  const reference = objectIn(event, 'objectRef')
  const subresource = textIn(reference, 'subresource')
  // A patch or an update may create the object.
  const verb = code === CREATED && subresource === '' && asks !== 'delete' ? 'create' : asks
  const [group, groupVersion] = [textIn(reference, 'apiGroup'), textIn(reference, 'apiVersion')]
  const apiVersion = group === '' ? groupVersion : `${group}/${groupVersion}`
  const resource = textIn(reference, 'resource')
  const untraced = reasonNotTraced(apiVersion, resource)
  if (untraced !== undefined) return untraced
  if (resource === '' || NOT_STORED.has(subresource)) return 'no_object'
  const answer = objectIn(event, 'responseObject')
  const asked = objectIn(event, 'requestObject')
  const dryRun = isDryRun(event, verb, asked)
  if (dryRun === true) return 'dry_run'
  const metadata = objectIn(answer, 'metadata')
  const isStatus = textIn(answer, 'kind') === 'Status'
  const isScale = textIn(answer, 'kind') === 'Scale'
  const isWhole = !isStatus && textIn(metadata, 'uid') !== '' && !isScale
  const facts = isWhole ? readObjectFacts(answer, resource, rules) : undefined
  const told = parseResourceVersion(textIn(metadata, 'resourceVersion'))
  // The request that removes the last finalizer of a deleted object is answered with the object as it was.
  const isCompleted =
    (verb === 'patch' || verb === 'update') &&
    subresource === '' &&
    textIn(metadata, 'deletionTimestamp') !== '' &&
    !(numberIn(metadata, 'deletionGracePeriodSeconds') > 0) &&
    arrayIn(metadata, 'finalizers').length === 0
  const version = isCompleted || (verb === 'delete' && isStatus) ? undefined : told
  const manager = version === undefined ? queryOf(event).get('fieldManager') : null
  const request = {
    ...readRequest(event, verb, subresource, asked),
    ...{ tellsVersion: version !== undefined, ...(manager !== null && { manager }) },
    ...(isScale && { replicas: numberIn(objectIn(answer, 'spec'), 'replicas') }),
  }
  return {
    source: 'audit',
    object: {
      apiVersion: isWhole ? textIn(answer, 'apiVersion') : apiVersion,
      resource,
      // The reference to a Namespace has its own name as namespace.
      namespace: resource === 'namespaces' ? '' : textIn(reference, 'namespace'),
      name: firstOf(textIn(metadata, 'name'), textIn(reference, 'name')),
      uid: firstOf(
        textIn(metadata, 'uid'),
        textIn(objectIn(answer, 'details'), 'uid'),
        textIn(reference, 'uid'),
        textIn(objectIn(asked, 'metadata'), 'uid'),
        textIn(objectIn(asked, 'preconditions'), 'uid'),
      ),
    },
    version,
    facts,
    gone: isCompleted || (verb === 'delete' && subresource === '' && (isStatus || isGone(answer, asked))),
    request,
    ...(dryRun === undefined && { mayBeDryRun: true }),
    seenNs: request.endNs,
  }
}

/** A deletion with a body ignores the query of its URI. Undefined where the policy keeps no body that could overrule it. */
function isDryRun(event: JsonObject, verb: Verb, asked: JsonObject): boolean | undefined {
  if (verb === 'delete' && Object.keys(asked).length > 0) return arrayIn(asked, 'dryRun').length > 0
  if (arrayIn(objectIn(asked, 'deleteOptions'), 'dryRun').length > 0 && textIn(asked, 'kind') === 'Eviction')
    return true
  const isAsked = queryOf(event).has('dryRun')
  return isAsked && verb === 'delete' && textIn(event, 'level') === 'Metadata' ? undefined : isAsked
}

function queryOf(event: JsonObject): URLSearchParams {
  const uri = textIn(event, 'requestURI')
  return new URLSearchParams(uri.slice(uri.indexOf('?') + 1))
}

function readRequest(
  event: JsonObject,
  verb: Verb,
  subresource: string,
  asked: JsonObject,
): Omit<ApiRequest, 'tellsVersion'> {
  const body = verb === 'update' ? objectIn(asked, 'metadata') : objectIn(asked, 'preconditions')
  const read = parseResourceVersion(textIn(body, 'resourceVersion'))
  const auditId = textIn(event, 'auditID')
  return {
    actor: { ...userOf(event), userAgent: textIn(event, 'userAgent') },
    verb,
    subresource,
    startNs: auditTimeOf(event, 'requestReceivedTimestamp'),
    endNs: auditTimeOf(event, 'stageTimestamp'),
    ...(read !== undefined && { readVersion: read }),
    ...(auditId !== '' && { auditId }),
  }
}

/** Rancher, Teleport and the like use an account that impersonates the person. A person who impersonates another is still the user. */
function userOf(event: JsonObject): Pick<Actor, 'user' | 'impersonated'> {
  const [user, impersonated] = ['user', 'impersonatedUser'].map((key) =>
    textIn(objectIn(event, key), 'username'),
  )
  if (user === undefined || impersonated === undefined || impersonated === '') return { user: user ?? '' }
  const isPerson = (name: string): boolean => !name.startsWith('system:')
  return { user: !isPerson(user) && isPerson(impersonated) ? impersonated : user, impersonated }
}

/**
 * A deletion is answered with the deleted object. If the object still exists, it has a deletion time and something to wait for. A Pod
 * without a node gets no grace period, whatever was requested.
 */
function isGone(answer: JsonObject, asked: JsonObject): boolean {
  const metadata = objectIn(answer, 'metadata')
  if (textIn(metadata, 'uid') === '') return asked.gracePeriodSeconds === 0
  if (textIn(metadata, 'deletionTimestamp') === '') return true
  const isAtOnce = metadata.deletionGracePeriodSeconds === 0 || asked.gracePeriodSeconds === 0
  return isAtOnce && arrayIn(metadata, 'finalizers').length === 0
}

function auditTimeOf(event: Json, key: string): UnixNanos {
  return parseRfc3339(textIn(event, key)) ?? 0n
}

function firstOf(...texts: readonly string[]): string {
  return texts.find((text) => text !== '') ?? ''
}

function isVerb(verb: string): verb is Verb {
  return AUDITED_VERBS.includes(verb)
}
