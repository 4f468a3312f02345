import type { UnixNanos } from '../model/clock.ts'
import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import type { AuditedRequest, Skipped } from '../model/kubernetes/observation.ts'
import type { Request, Verb } from '../model/kubernetes/write.ts'
import { parseRfc3339 } from '../model/rfc3339.ts'
import { arrayIn, numberIn, objectIn, textIn, type Json, type JsonObject } from './json-access.ts'
import { readObjectFacts } from './read-object-facts.ts'
import { readVersion } from './read-version.ts'
import { whyUntraced } from './untraced.ts'

const VERBS: readonly string[] = ['create', 'update', 'patch', 'delete']
/** Subresources that are answered without a version of the object having been made by the request itself. */
const NOT_STORED = new Set(['token', 'log', 'exec', 'attach', 'portforward', 'proxy'])

/** What an event of an audit log or webhook (`audit.k8s.io/v1`) says of an accepted write. */
export function readAuditEvent(
  event: JsonObject,
  custom: readonly CustomReference[] = [],
): AuditedRequest | Skipped {
  if (textIn(event, 'stage') !== 'ResponseComplete') return 'stage'
  const verb = textIn(event, 'verb')
  if (!isVerb(verb)) return 'read'
  const code = numberIn(objectIn(event, 'responseStatus'), 'code')
  if (code < 200 || code >= 300) return 'failed'
  const reference = objectIn(event, 'objectRef')
  const subresource = textIn(reference, 'subresource')
  const [group, groupVersion] = [textIn(reference, 'apiGroup'), textIn(reference, 'apiVersion')]
  const apiVersion = group === '' ? groupVersion : `${group}/${groupVersion}`
  const resource = textIn(reference, 'resource')
  const untraced = whyUntraced(apiVersion, resource)
  if (untraced !== undefined) return untraced
  if (resource === '' || NOT_STORED.has(subresource)) return 'no_object'
  if (textIn(event, 'requestURI').includes('dryRun=')) return 'dry_run'
  const answer = objectIn(event, 'responseObject')
  const asked = objectIn(event, 'requestObject')
  const metadata = objectIn(answer, 'metadata')
  const isStatus = textIn(answer, 'kind') === 'Status'
  const isWhole = !isStatus && textIn(metadata, 'uid') !== '' && textIn(answer, 'kind') !== 'Scale'
  const facts = isWhole ? readObjectFacts(answer, resource, custom) : undefined
  const told = readVersion(textIn(metadata, 'resourceVersion'))
  const version = verb === 'delete' && isStatus ? undefined : told
  const request = { ...readRequest(event, verb, subresource, asked), tellsVersion: version !== undefined }
  return {
    source: 'audit',
    object: {
      apiVersion: isWhole ? textIn(answer, 'apiVersion') : apiVersion,
      resource,
      namespace: textIn(reference, 'namespace'),
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
    gone: verb === 'delete' && subresource === '' && (isStatus || isGone(answer, asked)),
    request,
    seenNs: request.endNs,
  }
}

function readRequest(
  event: JsonObject,
  verb: Verb,
  subresource: string,
  asked: JsonObject,
): Omit<Request, 'tellsVersion'> {
  const body = verb === 'update' ? objectIn(asked, 'metadata') : objectIn(asked, 'preconditions')
  const read = readVersion(textIn(body, 'resourceVersion'))
  const auditId = textIn(event, 'auditID')
  return {
    actor: { user: textIn(objectIn(event, 'user'), 'username'), userAgent: textIn(event, 'userAgent') },
    verb,
    subresource,
    startNs: timeOf(event, 'requestReceivedTimestamp'),
    endNs: timeOf(event, 'stageTimestamp'),
    ...(read !== undefined && { readVersion: read }),
    ...(auditId !== '' && { auditId }),
  }
}

/**
 * A deletion is answered with the object as it is with it: one that is still there has a time at which it is to go, and something to
 * wait for. A Pod that has no node yet gets no grace period, whatever was asked for.
 */
function isGone(answer: JsonObject, asked: JsonObject): boolean {
  const metadata = objectIn(answer, 'metadata')
  if (textIn(metadata, 'uid') === '') return asked.gracePeriodSeconds === 0
  if (textIn(metadata, 'deletionTimestamp') === '') return true
  const isAtOnce = metadata.deletionGracePeriodSeconds === 0 || asked.gracePeriodSeconds === 0
  return isAtOnce && arrayIn(metadata, 'finalizers').length === 0
}

function timeOf(event: Json, key: string): UnixNanos {
  return parseRfc3339(textIn(event, key)) ?? 0n
}

function firstOf(...texts: readonly string[]): string {
  return texts.find((text) => text !== '') ?? ''
}

function isVerb(verb: string): verb is Verb {
  return VERBS.includes(verb)
}
