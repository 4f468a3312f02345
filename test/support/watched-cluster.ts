import { derivedCpid } from '../../src/kube/inference/write-key.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import {
  type AuditedRequest,
  type Observation,
  serializeObservations,
  type Verb,
} from '../../src/model/kubernetes-observations.ts'
import type { SpanSketch } from './otlp-requests.ts'
import { TestWriter } from './test-writer.ts'

const CLUSTER = 'test'
export const OPERATOR = 'tenant-operator'
export const ALICE = { user: 'alice', userAgent: 'kubectl/v1.36' }
export const TENANT = { user: 'system:serviceaccount:ops:tenant', userAgent: 'manager/v0' }
export const DEPLOYMENTS = {
  user: 'system:serviceaccount:kube-system:deployment-controller',
  userAgent: 'kube-controller-manager/v1.36',
}
const KINDS = {
  tenants: { apiVersion: 'example.com/v1', kind: 'Tenant' },
  deployments: { apiVersion: 'apps/v1', kind: 'Deployment' },
  replicasets: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
} as const
export type Resource = keyof typeof KINDS
const OWNER: Readonly<Partial<Record<Resource, Resource>>> = {
  deployments: 'tenants',
  replicasets: 'deployments',
}
/** Long enough for all that waits for anything. */
export const OVER_MS = 30_000
export const STEP_MS = 250

export interface Version {
  readonly resource: Resource
  readonly version: number
  readonly actor: typeof ALICE
  readonly verb: Verb
  readonly subresource?: string | undefined
  /** What its annotation says. */
  readonly carries?: string | undefined
  /** Which ancestors it says that this change has; none where it says nothing of them. */
  readonly ancestors?: readonly string[] | undefined
  readonly generation: number
  /** What its status says. */
  readonly ready?: number | undefined
  readonly deleting?: boolean | undefined
  readonly gone?: boolean | undefined
}

export const referenceOf = ({ resource, version }: Pick<Version, 'resource' | 'version'>): string =>
  `${KINDS[resource].apiVersion}/${resource}/shop/acme?uid=${resource}&rv=${version}`

/** A cluster that a watch and an audit log tell of, and somebody who tells of own writes. */
export class Watched implements Disposable {
  writer: TestWriter
  readonly #due: { atMs: number; tell: () => void }[] = []
  #nowMs = 0
  #spans = 0

  private constructor(writer: TestWriter) {
    this.writer = writer
  }

  static async open(tellingWaitMs = 7_000): Promise<Watched> {
    const inference = {
      ...{ relations: RELATIONS, operators: [], controllers: [], windowMs: 500, whoWaitMs: 2_000 },
      ...{ tellingWaitMs, clusters: { [CLUSTER]: { versions: true, requests: true } } },
    }
    const watched = new Watched(await TestWriter.open({ inference }))
    while (watched.writer.writer.inference.infer(100));
    return watched
  }

  /** Somebody makes a version, of which watch and audit log tell after so long; after `Infinity` never. */
  make(version: Version, watchedMs = 0, auditedMs = 0): void {
    const nowNs = BigInt(this.writer.clock.wallMs()) * 1_000_000n
    const watched = watchedVersion(version, nowNs)
    this.#later(watchedMs, () => this.#tell(watched))
    this.#later(auditedMs, () => this.#tell(auditedRequest(version, watched, nowNs)))
  }

  /** A program tells of it after so long. */
  tell(service: string, span: Partial<SpanSketch>, afterMs: number, wrote: readonly string[]): void {
    const id = ++this.#spans
    const start = this.#nowMs - 5
    const sketch = { trace: id, id, start, end: this.#nowMs, ...span, attributes: { 'cpid.wrote': wrote } }
    this.#later(afterMs, () => void this.writer.spans(service, [sketch], CLUSTER))
  }

  /** A program tells of a version that it saw, without a duration, after so long. */
  witness(service: string, span: Partial<SpanSketch>, afterMs: number, wrote: string): void {
    this.tell(service, { ...span, start: this.#nowMs, end: this.#nowMs }, afterMs, [wrote])
  }

  mergelog(service: string, cpidOf: string, sources: string[], object: string, afterMs: number): void {
    this.#later(
      afterMs,
      () =>
        void this.writer.mergelogs(
          service,
          [{ new: cpidOf, sources, object, reason: 'unattributed writer' }],
          CLUSTER,
        ),
    )
  }

  /** Causeway is killed, and starts again on what it had committed. */
  kill(): void {
    this.writer = this.writer.reopened()
    while (this.writer.writer.inference.infer(100));
  }

  pass(ms: number, stepMs = STEP_MS): void {
    for (const untilMs = this.#nowMs + ms; this.#nowMs < untilMs;) {
      this.#nowMs += stepMs
      this.writer.clock.advance(stepMs)
      for (const { tell } of this.#due.splice(0, this.#countDue())) tell()
      while (this.writer.writer.inference.infer(100));
      this.writer.pass(0)
    }
  }

  /** By which services each version is shown, and how often. */
  shown(): Record<string, string[]> {
    const rows = this.writer.db
      .prepare<[], { object: string; version: number; service: string }>(
        `SELECT o.object, w.version, r.service FROM span_objects w JOIN objects o ON o.id = w.object JOIN spans s ON s.id = w.span
         JOIN scopes e ON e.id = s.scope JOIN resources r ON r.id = e.resource WHERE w.role = 1 ORDER BY w.version, w.span`,
      )
      .all()
    const named = rows.map(({ object, version, service }) => [`${object.split('/')[2]} ${version}`, service])
    return Object.fromEntries(
      [...Map.groupBy(named, ([what = '']) => what)].map(([what, of]) => [
        what,
        of.map(([, service = '']) => service),
      ]),
    )
  }

  /** How it is known what a version follows from, as its span says. */
  causeOf(resource: Resource, version: number): string | undefined {
    return this.writer.db
      .prepare<[string, number], string>(
        `SELECT y.cause FROM span_objects w JOIN objects o ON o.id = w.object JOIN seen_writes y ON y.span = w.span
         WHERE w.role = 1 AND o.object LIKE ? AND w.version = ?`,
      )
      .pluck()
      .get(`%/${resource}/%`, version)
  }

  /** Whether the mergelog of a change is recorded. */
  hasMergelog(cpidOf: string): boolean {
    const find = this.writer.db.prepare<[string], number>('SELECT has_mergelog FROM cpids WHERE text = ?')
    return find.pluck().get(cpidOf) === 1
  }

  /** What a change comes from, by its recorded mergelog: whether that was worked out, and its sources. Undefined without one. */
  mergelogOf(cpidOf: string): { isWorkedOut: boolean; sources: string[] } | undefined {
    const find = this.writer.db.prepare<[string], { id: number; worked: number }>(
      'SELECT c.id, m.worked_out AS worked FROM mergelogs m JOIN cpids c ON c.id = m.cpid WHERE c.text = ?',
    )
    const row = find.get(cpidOf)
    const sources = this.writer.db.prepare<[number], string>(
      'SELECT c.text FROM edges e JOIN cpids c ON c.id = e.source WHERE e.target = ? ORDER BY 1',
    )
    return row && { isWorkedOut: row.worked === 1, sources: sources.pluck().all(row.id) }
  }

  /** The changes whose traces the spans of a change go into from now on. */
  listedRootsOf(cpidOf: string): string[] {
    const find = this.writer.db.prepare<[string], string>(
      `SELECT root.text FROM cpids c JOIN json_each(c.roots) listed JOIN cpids root ON root.id = listed.value
       WHERE c.text = ? ORDER BY 1`,
    )
    return find.pluck().all(cpidOf)
  }

  /** The traces that are shown as what a change began. */
  cascadesOf(cpidOf: string): number[] {
    const find = this.writer.db.prepare<[string], number>(
      'SELECT t.id FROM traces t JOIN cpids c ON c.id = t.root WHERE c.text = ? AND t.provisional = 0',
    )
    return find.pluck().all(cpidOf)
  }

  /** The changes of which each version is, up to those that began. */
  rootsOf(resource: Resource, version: number): string[] {
    return this.writer.db
      .prepare<[string, number], string>(
        `WITH RECURSIVE up (id) AS (
           SELECT s.cpid FROM span_objects w JOIN objects o ON o.id = w.object JOIN spans s ON s.id = w.span
             WHERE w.role = 1 AND o.object LIKE ? AND w.version = ?
           UNION SELECT e.source FROM edges e JOIN up ON e.target = up.id)
         SELECT c.text FROM up JOIN cpids c ON c.id = up.id
         WHERE NOT EXISTS (SELECT 1 FROM edges e WHERE e.target = up.id) ORDER BY 1`,
      )
      .pluck()
      .all(`%/${resource}/%`, version)
  }

  [Symbol.dispose](): void {
    this.writer[Symbol.dispose]()
  }

  #later(ms: number, tell: () => void): void {
    this.#due.push({ atMs: this.#nowMs + ms, tell })
    this.#due.sort((one, other) => one.atMs - other.atMs)
  }

  #countDue(): number {
    const at = this.#due.findIndex(({ atMs }) => atMs > this.#nowMs)
    return at < 0 ? this.#due.length : at
  }

  #tell(observation: Observation): void {
    const body = serializeObservations([observation])
    this.writer.writer.inference.record([{ cluster: CLUSTER, stream: observation.source, body }])
  }
}

function watchedVersion(of: Version, nowNs: bigint): Extract<Observation, { source: 'watch' }> {
  const {
    resource,
    version,
    carries,
    ancestors,
    generation,
    ready,
    deleting = false,
    gone = false,
    verb,
  } = of
  const owner = OWNER[resource]
  const metadata: JsonObject = {
    ...{ name: 'acme', namespace: 'shop', uid: resource, resourceVersion: String(version), generation },
    ...(carries !== undefined && {
      annotations: {
        'causeway.io/cpid': carries,
        ...(ancestors && { 'causeway.io/ancestor-cpids': ancestors.join(',') }),
      },
    }),
    ...(owner && {
      ownerReferences: [{ ...KINDS[owner], name: 'acme', uid: owner, controller: true }],
    }),
    ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ...((deleting || resource === 'tenants') && !gone && { finalizers: ['example.com/tenant'] }),
  }
  const type = gone ? 'DELETED' : verb === 'create' ? 'ADDED' : 'MODIFIED'
  const status = ready === undefined ? {} : { status: { readyReplicas: ready } }
  const object = { ...KINDS[resource], metadata, spec: { replicas: generation }, ...status }
  const read = readWatchEvent({ type, object }, nowNs)
  if (typeof read === 'string') throw new Error(read)
  return read
}

function auditedRequest(
  { version, actor, verb, subresource = '', gone = false }: Version,
  { object, facts }: Extract<Observation, { source: 'watch' }>,
  nowNs: bigint,
): AuditedRequest {
  return {
    ...{ source: 'audit', object, version: BigInt(version), facts, gone, seenNs: nowNs },
    request: {
      ...{ actor, verb, subresource, startNs: nowNs - 1_000_000n, endNs: nowNs },
      ...{ tellsVersion: true, auditId: `audit-${version}` },
    },
  }
}

export const rootOf = (resource: Resource, version: number): string =>
  derivedCpid('root', { cluster: CLUSTER, uid: resource, version: String(version) })

export const MADE: Version = { resource: 'tenants', version: 10, actor: ALICE, verb: 'create', generation: 1 }
export const ROOT = rootOf('tenants', 10)
export const DEPLOYED: Version = {
  ...{ resource: 'deployments', version: 11, actor: TENANT, verb: 'create', generation: 1 },
  carries: ROOT,
}
export const SPAN = { name: 'create apps/v1/deployments', cpid: ROOT }
