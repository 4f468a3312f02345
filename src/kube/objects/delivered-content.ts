import { fingerprintOf } from './content-prints.ts'
import type { Content } from './object-content.ts'
import { arrayIn, isObject, type Json, type JsonObject, numberIn, objectIn, textIn } from './object-json.ts'

const SOURCES = 'source.toolkit.fluxcd.io/'
const APPLIERS = /^(?:kustomize|helm)\.toolkit\.fluxcd\.io\//
const ARGO = 'argoproj.io/'
const REQUESTED = 'reconcile.fluxcd.io/requestedAt'
const REFRESH = 'argocd.argoproj.io/refresh'
/** What an OCI artifact was made of, and by whom. */
const ORIGIN = 'org.opencontainers.image.revision'
const AUTHORS = 'org.opencontainers.image.authors'
/** A source says so before it has stored what it found. */
const ANNOUNCED = /new (?:upstream|index) revision '([^']+)'/
/** What of an Application's source decides which revision it has. */
const WANTED = ['repoURL', 'targetRevision', 'path', 'chart'] as const
const MAX_LENGTH = 200

/**
 * What tools that apply what is in git say of it in their objects, as prints:
 * - `found`: the revision that was found outside of the cluster; `stored`: the same, but for what is only announced.
 * - `applied`: the revision that was applied; `author`: who made what was found.
 * - `revision`: which one is applied now; others are for those who read the object a change of its content.
 * - `applying`: `true` while another one is applied than was before.
 * - `asked`, `handled`: what somebody asked to be looked at, and what was; they differ until it was.
 * - `by`, `sync`: who asked for what to be applied.
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
    // What is made of another source follows from that.
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

/** What failed and is tried again later is not under way. */
function isAtWork(status: JsonObject): boolean {
  return arrayIn(status, 'conditions').some(
    (one) =>
      textIn(one, 'type') === 'Reconciling' &&
      textIn(one, 'status') === 'True' &&
      textIn(one, 'reason') !== 'ProgressingWithRetry',
  )
}

/** That of its source, or those of its sources. */
function revisionIn(of: JsonObject): string {
  const several = arrayIn(of, 'revisions').filter((one) => typeof one === 'string')
  return textIn(of, 'revision') || several.join(' ')
}

function sourcesIn(of: JsonObject): string {
  const all: readonly Json[] = [objectIn(of, 'source'), ...arrayIn(of, 'sources')]
  return fingerprintOf(all.map((source) => WANTED.map((key) => textIn(source, key))))
}
