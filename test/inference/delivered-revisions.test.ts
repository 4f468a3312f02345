import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { encodeDecisions } from '../../src/kube/inference/inferred-telemetry.ts'
import { type JsonObject, resourceOfKind } from '../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../src/kube/objects/audit-events.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const account = (name: string): string => `system:serviceaccount:flux-system:${name}`
const [SOURCES, APPLIES, NOTIFIES, ARGO, ARGO_SERVER] = [
  'source-controller',
  'kustomize-controller',
  'notification-controller',
  'argocd-application-controller',
  'argocd-server',
].map(account) as [string, string, string, string, string]
const [ONE, TWO] = ['main@sha1:1111', 'main@sha1:2222']

interface Deed {
  readonly by: string
  readonly kind: string
  readonly verb?: 'create' | 'delete'
  readonly subresource?: string
  readonly generation?: number
  readonly metadata?: JsonObject
  /** All else of the object. */
  readonly object?: JsonObject
}

const API: Readonly<Record<string, string>> = {
  GitRepository: 'source.toolkit.fluxcd.io/v1',
  OCIRepository: 'source.toolkit.fluxcd.io/v1',
  HelmRepository: 'source.toolkit.fluxcd.io/v1',
  HelmChart: 'source.toolkit.fluxcd.io/v1',
  Kustomization: 'kustomize.toolkit.fluxcd.io/v1',
  Application: 'argoproj.io/v1alpha1',
  Deployment: 'apps/v1',
  Bucket: 'storage.example.com/v1',
}

/** What the audit log tells: the n-th version, n times ten seconds after the start. */
function decided(...deeds: Deed[]): readonly Decision[] {
  const told = deeds.map(
    ({ by, kind, verb, subresource = '', generation = 1, metadata = {}, object = {} }, at): Observation => {
      const [api = '', version] = (API[kind] ?? '').split('/')
      const time = new Date(START + at * 10_000).toISOString()
      const name = 'shop'
      const read = readAuditEvent({
        ...{ stage: 'ResponseComplete', auditID: `id-${at}`, verb: verb ?? 'patch' },
        ...{ user: { username: by }, userAgent: 'x/1', responseStatus: { code: 200 } },
        ...{ requestReceivedTimestamp: time, stageTimestamp: time },
        objectRef: {
          ...{ apiGroup: api, apiVersion: version ?? '', resource: resourceOfKind(kind) },
          ...{ namespace: 'shop', name, subresource },
        },
        responseObject: {
          ...{ apiVersion: API[kind] ?? '', kind, ...object },
          metadata: {
            ...{ name, namespace: 'shop', uid: kind, generation, resourceVersion: String(at + 1) },
            ...metadata,
          },
        },
      })
      if (typeof read === 'string') throw new Error(read)
      return read
    },
  )
  return replay(told, ['audit']).decisions
}

interface Fetched {
  readonly stored?: string
  readonly announced?: string
  readonly handled?: string
  readonly observed?: number
  readonly origin?: JsonObject
}

const statusOf = ({ stored, announced, handled, observed = 1, origin }: Fetched): JsonObject => ({
  status: {
    observedGeneration: observed,
    ...(stored !== undefined && { artifact: { revision: stored, ...(origin && { metadata: origin }) } }),
    ...(handled !== undefined && { lastHandledReconcileAt: handled }),
    conditions:
      announced === undefined
        ? []
        : [{ type: 'Reconciling', message: `building artifact: new upstream revision '${announced}'` }],
  },
})
const SPEC = { spec: { url: 'https://example.com/shop.git', interval: '1m' } }
const fetched = (one: Fetched, more: Partial<Deed> = {}): Deed => ({
  ...{ by: SOURCES, kind: 'GitRepository', subresource: 'status', ...more },
  object: { ...SPEC, ...statusOf(one) },
})
/** alice makes a GitRepository, whose first revision is found. */
const MADE: readonly Deed[] = [
  { by: 'alice', kind: 'GitRepository', verb: 'create', object: SPEC },
  fetched({ announced: ONE, observed: 0 }),
  fetched({ stored: ONE }),
]
const ASKED = { annotations: { 'reconcile.fluxcd.io/requestedAt': 'now' } }

const begun = (decisions: readonly Decision[]): string[] =>
  decisions
    .filter(({ sources }) => sources?.length === 0)
    .map(({ writer }) => writer.actor ?? writer.user ?? writer.service)

test('the first revision of a GitRepository belongs to whoever made that, and a later one begins a change', () => {
  const decisions = decided(...MADE, fetched({ stored: ONE, announced: TWO }), fetched({ stored: TWO }))
  expect(begun(decisions)).toEqual(['alice', TWO])
  expect(decisions[1]?.writer).toMatchObject({ role: 'controller', actor: ONE, revision: ONE })
  expect(decisions[3]).toMatchObject({ cause: 'operator', writer: { user: SOURCES, revision: TWO } })
  expect(decisions[4]?.cpid).toBe(decisions[3]?.cpid)
})

test('its span tells the revision, and who wrote', () => {
  const text = encodeDecisions(decided(...MADE, fetched({ stored: TWO })).slice(3)).toString()
  for (const told of ['cpid.actor', 'cpid.revision', TWO, 'user.name', SOURCES]) expect(text).toContain(told)
})

test('what was announced, was not stored at once, and is stored then, begins one change', () => {
  const announced = fetched({ stored: ONE, announced: TWO })
  const decisions = decided(...MADE, announced, fetched({ stored: ONE }), fetched({ stored: TWO }))
  expect(begun(decisions)).toEqual(['alice', TWO])
})

test('the person who asked for it to be looked at begins what was found, and the revision is told', () => {
  const asking = { by: 'bob', kind: 'GitRepository', metadata: ASKED }
  const decisions = decided(
    ...MADE,
    { ...asking, object: { ...SPEC, ...statusOf({ stored: ONE }) } },
    fetched({ stored: ONE, announced: TWO }, { metadata: ASKED }),
    fetched({ stored: TWO, handled: 'now' }, { metadata: ASKED }),
  )
  expect(begun(decisions)).toEqual(['alice', 'bob'])
  expect(decisions[4]?.cpid).toBe(decisions[3]?.cpid)
  expect(decisions[4]?.writer).toMatchObject({ role: 'controller', actor: TWO, revision: TWO })
})

test('a webhook that a service passes on asks for nothing', () => {
  const told = { by: NOTIFIES, kind: 'GitRepository', metadata: ASKED }
  const decisions = decided(
    ...MADE,
    { ...told, object: { ...SPEC, ...statusOf({ stored: ONE }) } },
    fetched({ stored: TWO, handled: 'now' }, { metadata: ASKED }),
  )
  expect(begun(decisions)).toEqual(['alice', TWO])
})

test('who takes another branch begins what is found there', () => {
  const other = { spec: { ...SPEC.spec, ref: { branch: 'next' } } }
  const taken = { ...statusOf({ stored: ONE }), ...other }
  const decisions = decided(
    ...MADE,
    { by: 'bob', kind: 'GitRepository', generation: 2, object: taken },
    { ...fetched({}), generation: 2, object: { ...other, ...statusOf({ stored: TWO, observed: 2 }) } },
  )
  expect(begun(decisions)).toEqual(['alice', 'bob'])
})

test('of an OCI artifact the commit that it was made of is told, and who made that', () => {
  const origin = {
    'org.opencontainers.image.revision': TWO,
    'org.opencontainers.image.authors': 'Ann <ann@example.com>',
  }
  const kind = { kind: 'OCIRepository' }
  const decisions = decided(
    { by: 'alice', verb: 'create', ...kind, object: SPEC },
    fetched({ stored: 'latest@sha256:aa' }, kind),
    fetched({ stored: 'latest@sha256:bb', origin }, kind),
  )
  expect(begun(decisions)).toEqual(['alice', TWO])
  expect(decisions[2]?.writer.author).toBe('Ann <ann@example.com>')
})

test('a chart that is made of another source follows from what that found', () => {
  const [repository, chart] = [{ kind: 'HelmRepository' }, { kind: 'HelmChart' }]
  const spec = { spec: { sourceRef: { kind: 'HelmRepository', name: 'shop' } } }
  const decisions = decided(
    { by: 'alice', verb: 'create', ...repository, object: SPEC },
    fetched({ stored: 'sha256:aa' }, repository),
    { by: 'bob', verb: 'create', ...chart, object: spec },
    { ...fetched({ stored: '1.0.0' }, chart), object: { ...spec, ...statusOf({ stored: '1.0.0' }) } },
    fetched({ stored: 'sha256:bb' }, repository),
    { ...fetched({ stored: '1.1.0' }, chart), object: { ...spec, ...statusOf({ stored: '1.1.0' }) } },
  )
  expect(begun(decisions)).toEqual(['alice', 'bob', 'sha256:bb'])
  expect(decisions[5]?.sources).toContain(decisions[4]?.cpid)
  expect(decisions[5]?.writer.actor).toBe('1.1.0')
})

test('another Bucket than one of Flux tells no revision', () => {
  const decisions = decided(
    { by: 'alice', kind: 'Bucket', verb: 'create', object: SPEC },
    fetched({ stored: ONE }, { kind: 'Bucket' }),
    fetched({ stored: TWO }, { kind: 'Bucket' }),
  )
  expect(decisions.map(({ writer }) => writer.revision)).toEqual(decisions.map(() => undefined))
  expect(decisions.map(({ self }) => self?.reason)).toEqual([undefined, undefined, 'schedule'])
})

const applied = (attempted: string, last: string, message = ''): Deed => ({
  ...{ by: APPLIES, kind: 'Kustomization', subresource: 'status' },
  object: {
    spec: { sourceRef: { kind: 'GitRepository', name: 'shop' } },
    status: {
      ...{ lastAttemptedRevision: attempted, lastAppliedRevision: last },
      conditions: [{ type: 'Reconciling', message }],
    },
  },
})
const LABELS = {
  labels: { 'kustomize.toolkit.fluxcd.io/name': 'shop', 'kustomize.toolkit.fluxcd.io/namespace': 'shop' },
}
const deployed = (by: string, generation: number, replicas: number, more: Partial<Deed> = {}): Deed => ({
  ...{ by, kind: 'Deployment', generation, metadata: LABELS, object: { spec: { replicas } }, ...more },
})
const KUSTOMIZED: readonly Deed[] = [
  ...MADE,
  {
    by: 'bob',
    kind: 'Kustomization',
    verb: 'create',
    object: { spec: applied('', '').object?.spec ?? null },
  },
  applied(ONE, ''),
  deployed(APPLIES, 1, 1, { verb: 'create' }),
  applied(ONE, ONE),
]

test('what is applied belongs to the revision', () => {
  const decisions = decided(
    ...KUSTOMIZED,
    fetched({ stored: TWO }),
    applied(TWO, ONE),
    deployed(APPLIES, 2, 2),
    applied(TWO, TWO),
  )
  expect(begun(decisions)).toEqual(['alice', 'bob', TWO])
  const { cpid: commit, writer } = decisions[7] ?? {}
  expect(writer?.actor).toBe(TWO)
  expect(decisions[8]?.sources).toContain(commit)
  expect(decisions[9]?.cpid).toBe(decisions[8]?.cpid)
  expect(decisions[10]?.writer).toMatchObject({ actor: TWO, role: 'controller' })
})

test('what somebody else changed and Flux puts back follows from that alone, though Flux says that it looks again', () => {
  const decisions = decided(
    ...KUSTOMIZED,
    deployed('carol', 2, 3),
    applied(ONE, ONE, 'Detecting drift'),
    deployed(APPLIES, 3, 1),
  )
  const [changed, , back] = decisions.slice(7)
  expect(begun(decisions)).toEqual(['alice', 'bob', 'carol'])
  expect(back?.cpid).toBe(changed?.cpid)
})

test('what somebody deletes and Flux makes anew follows from the deletion alone', () => {
  const decisions = decided(
    ...KUSTOMIZED,
    deployed('carol', 1, 1, { verb: 'delete' }),
    applied(ONE, ONE, 'Detecting drift'),
    deployed(APPLIES, 1, 1, { verb: 'create', metadata: { ...LABELS, uid: 'another' } }),
  )
  const [deleted, , again] = decisions.slice(7)
  expect(begun(decisions)).toEqual(['alice', 'bob', 'carol'])
  expect(again?.cpid).toBe(deleted?.cpid)
})

const WANTED = { repoURL: 'https://example.com/shop.git', targetRevision: 'main', path: '.' }
const compared = (revision: string, more: JsonObject = {}): JsonObject => ({
  sync: { status: 'OutOfSync', revision, comparedTo: { source: WANTED } },
  ...more,
})
const application = (by: string, generation: number, status: JsonObject, more: JsonObject = {}): Deed => ({
  ...{ by, kind: 'Application', generation },
  object: { spec: { source: WANTED }, status, ...more },
})
/** Its status is no subresource: each write makes another generation. */
const ARGO_MADE: readonly Deed[] = [
  { by: 'alice', kind: 'Application', verb: 'create', object: { spec: { source: WANTED } } },
  application(ARGO, 2, compared('1111')),
]
const resultOf = (revision: string): JsonObject => ({
  operationState: { phase: 'Succeeded', startedAt: '2026-01-01T00:00:00Z', syncResult: { revision } },
})

test('a revision that Argo CD finds begins a change, and what it syncs by itself is of that', () => {
  const decisions = decided(
    ...ARGO_MADE,
    application(ARGO, 3, compared('2222')),
    application(ARGO, 4, compared('2222'), {
      operation: { initiatedBy: { automated: true }, sync: { revision: '2222' } },
    }),
    application(ARGO, 5, compared('2222', resultOf('2222'))),
  )
  expect(begun(decisions)).toEqual(['alice', '2222'])
  expect(decisions.slice(2).map(({ cpid }) => cpid)).toEqual(Array(3).fill(decisions[2]?.cpid))
  expect(decisions[4]?.writer).toMatchObject({ actor: '2222', revision: '2222' })
})

test('of several sources all revisions are told', () => {
  const several = (revisions: readonly string[]): JsonObject => ({
    sync: { revisions: [...revisions], comparedTo: { sources: [WANTED, WANTED] } },
  })
  const spec = { spec: { sources: [WANTED, WANTED] } }
  const decisions = decided(
    { by: 'alice', kind: 'Application', verb: 'create', object: spec },
    application(ARGO, 2, several(['1', '2']), spec),
    application(ARGO, 3, several(['1', '3']), spec),
  )
  expect(begun(decisions)).toEqual(['alice', '1 3'])
})

test('who asked Argo CD to sync begins a change, and the revision is told', () => {
  const operation = { initiatedBy: { username: 'carol' }, sync: { revision: '1111' } }
  const decisions = decided(
    ...ARGO_MADE,
    application(ARGO_SERVER, 3, compared('1111'), { operation }),
    application(ARGO, 4, compared('1111', resultOf('1111'))),
  )
  expect(begun(decisions)).toEqual(['alice', 'carol'])
  expect(decisions[2]?.writer).toMatchObject({ user: ARGO_SERVER, actor: 'carol', revision: '1111' })
  expect(decisions[3]?.cpid).toBe(decisions[2]?.cpid)
})

test('whom the API server knows counts, whoever the object says asked', () => {
  const operation = { initiatedBy: { username: 'carol' }, sync: {} }
  const decisions = decided(...ARGO_MADE, application('mallory', 3, compared('1111'), { operation }))
  expect(begun(decisions)).toEqual(['alice', 'mallory'])
})

test('who wants another revision of an Application begins what is found for it', () => {
  const other = { ...WANTED, targetRevision: 'next' }
  const found = { sync: { revision: '3333', comparedTo: { source: other } } }
  const decisions = decided(
    ...ARGO_MADE,
    application('bob', 3, compared('1111'), { spec: { source: other } }),
    application(ARGO, 4, found, { spec: { source: other } }),
  )
  expect(begun(decisions)).toEqual(['alice', 'bob'])
  expect(decisions[3]?.writer.actor).toBe('3333')
})
