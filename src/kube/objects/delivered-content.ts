import { fingerprintOf } from './content-prints.ts'
import type { ContentReference } from '../../model/kubernetes-objects.ts'
import { annotationsOf, type Content } from './content.ts'
import { arrayIn, isObject, type Json, type JsonObject, numberIn, objectIn, textIn } from './object-json.ts'

const SOURCES = 'source.toolkit.fluxcd.io/'
const APPLIERS = /^(?:kustomize|helm)\.toolkit\.fluxcd\.io\//
const ARGO = 'argoproj.io/'
const REQUESTED = 'reconcile.fluxcd.io/requestedAt'
const REFRESH = 'argocd.argoproj.io/refresh'
/** OCI annotations that name the revision an artifact was built from, and its authors. */
const ORIGIN = 'org.opencontainers.image.revision'
const AUTHORS = 'org.opencontainers.image.authors'
/** A Flux source reports a new revision with this before it stores it. */
const ANNOUNCED = /new (?:upstream|index) revision '([^']+)'/
/** The fields of an Application's source that decide its revision. */
const WANTED = ['repoURL', 'targetRevision', 'path', 'chart'] as const
const MAX_LENGTH = 200

/**
 * What GitOps tools record in their objects, as fingerprints:
 * - `found`: the revision that was found outside of the cluster; `stored`: the same, unless it is only announced.
 * - `applied`: the revision that was applied; `author`: the author of the found revision.
 * - `revision`: the revision that is applied now. For readers of the object, another revision is a change of its content.
 * - `applying`: `true` while another revision is being applied.
 * - `asked`, `handled`: the last reconcile request and the last handled one; they differ until it is handled.
 * - `by`, `sync`: who requested which sync.
 */
export const DELIVERED: Readonly<Record<string, (object: JsonObject) => Content>> = {
  GitRepository: sourceContent,
  OCIRepository: sourceContent,
  Bucket: sourceContent,
  HelmRepository: sourceContent,
  HelmChart: sourceContent,
  ExternalArtifact: sourceContent,
  Kustomization: applierContent,
  HelmRelease: applierContent,
  Application: applicationContent,
}

const told = (prints: Readonly<Record<string, string>>): Content => ({
  references: [],
  prints: Object.fromEntries(Object.entries(prints).map(([key, text]) => [key, text.slice(0, MAX_LENGTH)])),
})

const isOf = (object: JsonObject, group: string): boolean => textIn(object, 'apiVersion').startsWith(group)

function sourceContent(object: JsonObject): Content {
  if (!isOf(object, SOURCES)) return told({})
  const [metadata, status] = [objectIn(object, 'metadata'), objectIn(object, 'status')]
  const artifact = objectIn(status, 'artifact')
  const origin = objectIn(artifact, 'metadata')
  const stored = textIn(origin, ORIGIN) || textIn(artifact, 'revision')
  const messages = arrayIn(status, 'conditions').map((one) => textIn(one, 'message'))
  const [announced] = messages.flatMap((message) => ANNOUNCED.exec(message)?.[1] ?? [])
  const isOfOrigin = textIn(artifact, 'revision') === announced
  const found = announced === undefined || isOfOrigin ? stored : announced
  return told({
    ...{ found, revision: found },
    // An artifact made from another source follows from that source.
    stored: isObject(objectIn(object, 'spec').sourceRef ?? null) ? '' : stored,
    author: textIn(origin, AUTHORS),
    asked: `${numberIn(metadata, 'generation')} ${textIn(objectIn(metadata, 'annotations'), REQUESTED)}`,
    handled: `${numberIn(status, 'observedGeneration')} ${textIn(status, 'lastHandledReconcileAt')}`,
  })
}

function applierContent(object: JsonObject): Content {
  if (!APPLIERS.test(textIn(object, 'apiVersion'))) return told({})
  const status = objectIn(object, 'status')
  const [last, attempted] = ['lastAppliedRevision', 'lastAttemptedRevision'].map((key) => textIn(status, key))
  const applied = textIn(status, 'lastAppliedOriginRevision') || last || attempted || ''
  const isOther = textIn(object, 'kind') === 'HelmRelease' || attempted !== last
  return told({ applied, revision: attempted ?? '', applying: String(isOther && isAtWork(status)) })
}

function applicationContent(object: JsonObject): Content {
  if (!isOf(object, ARGO)) return told({})
  const [spec, status, operation] = ['spec', 'status', 'operation'].map((key) => objectIn(object, key))
  const sync = objectIn(status ?? {}, 'sync')
  const found = revisionIn(sync)
  const state = objectIn(status ?? {}, 'operationState')
  const applied = revisionIn(objectIn(state, 'syncResult'))
  const annotations = objectIn(objectIn(object, 'metadata'), 'annotations')
  return told({
    ...{ found, stored: found, applied },
    revision: `${found} ${applied} ${textIn(state, 'startedAt')}`,
    applying: String(textIn(state, 'phase') === 'Running'),
    asked: `${sourcesIn(spec ?? {})} ${textIn(annotations, REFRESH)}`,
    handled: `${sourcesIn(objectIn(sync, 'comparedTo'))} `,
    by: textIn(objectIn(operation ?? {}, 'initiatedBy'), 'username'),
    sync: revisionIn(objectIn(operation ?? {}, 'sync')),
  })
}

/** Whether it reconciles now; a failed attempt that is retried later does not count. */
function isAtWork(status: JsonObject): boolean {
  return arrayIn(status, 'conditions').some(
    (one) =>
      textIn(one, 'type') === 'Reconciling' &&
      textIn(one, 'status') === 'True' &&
      textIn(one, 'reason') !== 'ProgressingWithRetry',
  )
}

/** The revision of its source, or those of its sources. */
function revisionIn(of: JsonObject): string {
  const several = arrayIn(of, 'revisions').filter((one) => typeof one === 'string')
  return textIn(of, 'revision') || several.join(' ')
}

function sourcesIn(of: JsonObject): string {
  const all: readonly Json[] = [objectIn(of, 'source'), ...arrayIn(of, 'sources')]
  return fingerprintOf(all.map((source) => WANTED.map((key) => textIn(source, key))))
}

/** Labels that GitOps controllers put on what they apply, naming the object it comes from. */
const GITOPS_LABELS = [
  {
    name: 'kustomize.toolkit.fluxcd.io/name',
    namespace: 'kustomize.toolkit.fluxcd.io/namespace',
    resource: 'kustomizations',
  },
  {
    name: 'helm.toolkit.fluxcd.io/name',
    namespace: 'helm.toolkit.fluxcd.io/namespace',
    resource: 'helmreleases',
  },
  { name: 'argocd.argoproj.io/instance', namespace: '', resource: 'applications' },
]

const ARGO_TRACKING = 'argocd.argoproj.io/tracking-id'

export function appliedFrom(object: JsonObject): ContentReference[] {
  const labels = objectIn(objectIn(object, 'metadata'), 'labels')
  const found = GITOPS_LABELS.map(({ name, namespace, resource }) => ({
    field: 'applied from',
    resource,
    namespace: textIn(labels, namespace),
    name: textIn(labels, name),
  }))
  // `<application>:<group>/<kind>:<namespace>/<name>`
  const [application = ''] = textIn(annotationsOf(object), ARGO_TRACKING).split(':')
  found.push({ field: 'applied from', resource: 'applications', namespace: '', name: application })
  return found.filter(({ name }) => name !== '')
}
