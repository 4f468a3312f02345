import type { UnixNanos } from '../model/clock.ts'
import type { AdmittedRequest, Skipped } from '../model/kubernetes/observation.ts'
import type { Verb } from '../model/kubernetes/write.ts'
import { ownValue } from '../model/own-value.ts'
import { booleanIn, isObject, objectIn, textIn, type JsonObject } from './json-access.ts'
import { readObjectFacts } from './read-object-facts.ts'
import { readVersion } from './read-version.ts'
import { whyUntraced } from './untraced.ts'

const VERBS: Readonly<Record<string, Verb>> = { CREATE: 'create', UPDATE: 'update', DELETE: 'delete' }
/** Subresources whose body is another object than the one that is written. */
const OTHER_BODY = new Set(['scale', 'binding', 'eviction'])

/** The uid by which an AdmissionReview is answered; empty where it has none. */
export function uidOfReview(review: JsonObject): string {
  return textIn(objectIn(review, 'request'), 'uid')
}

/** What an AdmissionReview (`admission.k8s.io/v1`) says of the request that is about to be done. */
export function readAdmissionReview(
  review: JsonObject,
  { seenNs, traceparent }: { seenNs: UnixNanos; traceparent: string },
): AdmittedRequest | Skipped {
  const request = objectIn(review, 'request')
  const verb = ownValue(VERBS, textIn(request, 'operation'))
  if (verb === undefined) return 'read'
  // As the request names it: the webhook may be given the object in another version of its API.
  const asked = isObject(request.requestResource) ? request.requestResource : objectIn(request, 'resource')
  const [group, resource] = [textIn(asked, 'group'), textIn(asked, 'resource')]
  const apiVersion = group === '' ? textIn(asked, 'version') : `${group}/${textIn(asked, 'version')}`
  const untraced = whyUntraced(apiVersion, resource)
  if (untraced !== undefined) return untraced
  if (booleanIn(request, 'dryRun')) return 'dry_run'
  const subresource = textIn(request, 'subResource')
  const [object, before] = [objectIn(request, 'object'), objectIn(request, 'oldObject')]
  const [metadata, metadataBefore] = [objectIn(object, 'metadata'), objectIn(before, 'metadata')]
  const name = [textIn(request, 'name'), textIn(metadata, 'name'), textIn(metadataBefore, 'name')].find(
    (one) => one !== '',
  )
  const generateName = name === undefined ? textIn(metadata, 'generateName') : ''
  if (resource === '' || (name === undefined && generateName === '')) return 'no_object'
  const isWhole = verb !== 'delete' && !OTHER_BODY.has(subresource)
  return {
    source: 'admission',
    object: {
      apiVersion,
      resource,
      // A request for a namespace tells that as the namespace too.
      namespace: resource === 'namespaces' ? '' : textIn(request, 'namespace'),
      name: name ?? '',
      uid: textIn(metadataBefore, 'uid'),
    },
    version: undefined,
    generateName,
    versionBefore: readVersion(textIn(metadataBefore, 'resourceVersion')),
    facts: isWhole ? readObjectFacts(object) : undefined,
    request: {
      actor: { user: textIn(objectIn(request, 'userInfo'), 'username'), userAgent: '' },
      verb,
      subresource,
      startNs: seenNs,
      endNs: seenNs,
      // It is joined to a version that another source tells.
      tellsVersion: true,
      ...(traceparent !== '' && { traceparent }),
    },
    seenNs,
  }
}
