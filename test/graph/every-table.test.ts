import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { derivedCpid } from '../../src/kube/inference/write-key.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import { type Observation, serializeObservations } from '../../src/model/kubernetes-observations.ts'
import { SqliteArchiveReader } from '../../src/store/sqlite/archive-reader.ts'
import { cpid } from '../support/otlp-requests.ts'
import { metricsRequest } from '../support/pod-metrics.ts'
import { TestWriter } from '../support/test-writer.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const MAX_CPIDS = 30
const RETENTION = { maxAgeMs: DAY, maxCpids: MAX_CPIDS, maxBytes: 20 * 1024 * 1024 }
/** What the limits above come to for what was refused (keeping/table-keeper.ts, request-table.ts). */
const REFUSED_MERGELOGS = 64
const REFUSED_ITEMS = 512

interface Keeping {
  /** What removes its rows, and when. */
  by: string
  /** How many are left at most when all has been forgotten that may be. */
  left: number
}

const withCpids = 'pruning: with the CPIDs that they belong to'
const withSpans = 'pruning: with the last span that names them'
const withObjects = 'keeping: with the object of a cluster'
const sweep = 'keeping: when nobody can come any more whom they await'
const sweepOfBlocks = 'keeping: when none of its rows is left'

/** Every table has an owner that bounds it. A new table needs one too, and a part in `aDay` that fills it. */
const KEPT: Record<string, Keeping> = {
  archive_changes: { by: 'the slowest archive', left: 0 },
  archives: { by: 'the configuration, at the start', left: 1 },
  arrival_marks: { by: 'pruning: beyond max_age', left: 2 },
  awaited_joins: { by: 'linking: with the wait for it', left: 0 },
  awaited_parents: { by: sweep, left: 0 },
  awaited_versions: { by: sweep, left: 0 },
  awaited_writers: { by: sweep, left: 0 },
  cascade_pods: { by: withCpids, left: 0 },
  change_spans: { by: withCpids, left: 0 },
  cpid_origins: { by: withCpids, left: 0 },
  cpids: { by: 'pruning: max_cpids, and as many tombstones', left: MAX_CPIDS },
  edges: { by: withCpids, left: 0 },
  explain_later: { by: 'explaining, in turns before linking', left: 0 },
  exporters: { by: 'the configuration, at the start', left: 1 },
  graph_events: { by: 'linking, which hears of them once', left: 0 },
  held_items: { by: 'inference: once it is decided, or five seconds', left: 0 },
  joined_spans: { by: withSpans, left: 0 },
  k8s_acted: { by: withObjects, left: 0 },
  k8s_clusters: { by: 'keeping: a week after the last that was told of it', left: 0 },
  k8s_objects: { by: 'keeping: an hour after it went, and a million', left: 0 },
  k8s_owners: { by: withObjects, left: 0 },
  k8s_primaries: {
    by: 'inference: eight of a controller, and a thousand; keeping: with the cluster',
    left: 0,
  },
  k8s_references: { by: withObjects, left: 0 },
  k8s_streams: { by: 'keeping: with the cluster', left: 0 },
  k8s_tellings: { by: 'inference: once it is decided', left: 0 },
  k8s_told_requests: { by: 'keeping: a day, and the newest hundred thousand', left: 0 },
  k8s_versions: { by: 'inference: the last ones of an object; keeping: with it', left: 0 },
  log_exporters: { by: 'the configuration, at the start', left: 1 },
  log_outbox: { by: 'the slowest exporter of logs', left: 0 },
  logs: { by: withCpids, left: 0 },
  long_traces: { by: sweepOfBlocks, left: 0 },
  mergelogs: { by: withCpids, left: 0 },
  objects: { by: withSpans, left: 0 },
  metric_exporters: { by: 'the configuration, at the start', left: 1 },
  metric_outbox: {
    by: 'the slowest exporter of metrics; keeping: max_age, and a part of max_bytes',
    left: 0,
  },
  origin_trace_index: { by: withSpans, left: 0 },
  origin_traces: { by: withSpans, left: 0 },
  outbox: { by: withCpids, left: 0 },
  pod_series: { by: withCpids, left: 0 },
  own_span_blocks: { by: sweepOfBlocks, left: 0 },
  progress: { by: 'its only row', left: 1 },
  rejected_items: { by: 'the request table: the newest, as far as max_bytes goes', left: REFUSED_ITEMS },
  rejected_mergelogs: { by: 'keeping: max_age, and the newest, as far as max_bytes goes', left: 0 },
  requests: { by: 'pruning: an hour; the request table: as far as max_bytes goes', left: 0 },
  resources: { by: 'keeping: with their last scope', left: 0 },
  scopes: { by: 'keeping: when no row names them', left: 0 },
  set_aside: { by: 'keeping: a week, and the newest thousand', left: 0 },
  seen_writes: { by: withSpans, left: 0 },
  span_objects: { by: withSpans, left: 0 },
  span_blocks: { by: sweepOfBlocks, left: 0 },
  spans: { by: withCpids, left: 0 },
  trace_actors: { by: withCpids, left: 0 },
  trace_namespaces: { by: withCpids, left: 0 },
  trace_services: { by: withCpids, left: 0 },
  trace_writes: { by: withCpids, left: 0 },
  traces: { by: withCpids, left: 0 },
  unfinished_steps: { by: 'linking, before the next arrival', left: 0 },
  waiting: { by: 'linking: connectors::cpid::linking::wait', left: 0 },
  waiting_logs: { by: 'linking: connectors::cpid::linking::wait', left: 0 },
  waiting_pod_points: { by: 'keeping: ten minutes, and 64 MiB', left: 0 },
}

const INFERENCE = {
  ...{ relations: RELATIONS, operators: [], controllers: [], windowMs: 500, whoWaitMs: 2_000 },
  clusters: { kept: { versions: true, requests: true, admissions: true } },
}
const writer = await TestWriter.open({
  inference: INFERENCE,
  retention: RETENTION,
  rowsABlock: 8,
  linking: { logs: true, awaitsRequests: true },
})
const tables = writer.db
  .prepare<[], string>(
    `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'
       AND name NOT LIKE 'kysely%' ORDER BY 1`,
  )
  .pluck()
  .all()

const rows = (table: string): number => writer.rows(table)

function prune(): void {
  while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
}

/** An autoscaler scales what makes Pods, an operator makes something for what it looks after, a request tells no version, and in the end all of them go. */
function tellOfCluster(from: TestWriter, day: number, look: () => void): void {
  const { clock } = from
  const { inference } = from.writer
  const seenNs = BigInt(clock.wallMs()) * 1_000_000n
  const tell = (observations: readonly Observation[]): void => {
    const body = serializeObservations(observations)
    expect(inference.record([{ cluster: 'kept', stream: 'watch', position: String(day), body }])).toEqual([
      { kind: 'stored' },
    ])
    look()
    clock.advance(3_000)
    while (inference.infer(100));
    look()
  }
  const owner = { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: `set-${day}`, uid: `set-${day}` }
  const objects = Array.from({ length: 10 }, (_, of): JsonObject[] => [
    {
      ...{ kind: 'HorizontalPodAutoscaler', apiVersion: 'autoscaling/v2' },
      metadata: { name: `scaler-${day}-${of}`, namespace: 'kept', uid: `scaler-${day}-${of}` },
      spec: { scaleTargetRef: { kind: 'ReplicaSet', name: owner.name } },
    },
    {
      ...{ kind: 'Pod', apiVersion: 'v1' },
      metadata: {
        name: `pod-${day}-${of}`,
        namespace: 'kept',
        uid: `pod-${day}-${of}`,
        ownerReferences: [owner],
      },
    },
  ]).flat()
  const widget = { kind: 'Widget', apiVersion: 'example.com/v1', name: `widget-${day}`, uid: `widget-${day}` }
  const { name, uid, ...ofWidget } = widget
  objects.push(
    { ...ofWidget, metadata: { name, uid, namespace: 'kept' } },
    {
      ...{ kind: 'ConfigMap', apiVersion: 'v1' },
      metadata: {
        ...{ name, uid: `of-${uid}`, namespace: 'kept', ownerReferences: [widget] },
        managedFields: [{ manager: 'widget-operator', operation: 'Update', time: '2026-01-01T00:00:00Z' }],
      },
    },
  )
  const told = (type: string): Observation[] =>
    objects.map((object, at) => {
      const version = String(day * 1_000 + (type === 'ADDED' ? 0 : 100) + at + 1)
      const metadata = { ...(object['metadata'] as JsonObject), resourceVersion: version }
      const read = readWatchEvent({ type, object: { ...object, metadata } }, seenNs)
      if (typeof read === 'string') throw new Error(`it makes no write: ${read}`)
      return read
    })
  while (inference.infer(100));
  tell(told('ADDED'))
  const next = { cluster: 'kept', uid: `pod-${day}-0`, version: String(day * 1_000 + 50) }
  const reference = `v1/pods/kept/pod-${day}-0?uid=${next.uid}&rv=${next.version}`
  from.mergelogs('operator', [{ new: derivedCpid('root', next), object: reference }], 'kept')
  tell([
    {
      ...{ source: 'audit', version: undefined, facts: undefined, gone: false, seenNs },
      object: { apiVersion: 'v1', resource: 'pods', namespace: 'kept', name: `pod-${day}-0`, uid: '' },
      request: {
        ...{ actor: { user: 'somebody', userAgent: '' }, verb: 'create', subresource: 'binding' },
        ...{ startNs: seenNs, endNs: seenNs, tellsVersion: false, auditId: `request ${day}` },
      },
    },
  ])
  tell(told('DELETED'))
}

/** The archive gets what there is. */
function archiveTakesAll(): void {
  const reader = new SqliteArchiveReader(writer.db)
  const archive = writer.writer.keepArchives(['archive']).get('archive')
  for (
    let reading = archive && reader.after(archive.position);
    reading !== undefined;
    reading = reader.after(reading.upTo)
  )
    writer.writer.saveArchives([{ exporter: 'archive', position: reading.upTo, refused: 0 }])
}

/** What a day of everything leaves in the tables, most at once of each. */
function aDay(day: number, most: Map<string, number>): void {
  const look = (): void => {
    for (const table of tables) most.set(table, Math.max(most.get(table) ?? 0, rows(table)))
  }
  const at = day * 100
  const object = (of: number): string => `v1/pods/default/web-${at + of}`
  for (let of = 1; of <= 10; of++) {
    const [root, merge, unexplained] = [at + of, at + 20 + of, at + 40 + of].map(cpid)
    const time = day * DAY + of
    writer.spans(`pod ${at + of}`, [
      {
        trace: at + of,
        id: at + of,
        cpid: root!,
        start: time,
        attributes: {
          'cpid.wrote': [`${object(of)}?uid=pod-${at + of}&rv=1`],
          'cpid.cause': 'operator',
          'cpid.audit_id': `request ${at + of}`,
          'user.name': `user ${at + of}`,
        },
      },
      { trace: at + of, id: at + 10 + of, parent: 90_000 + of, cpid: merge!, start: time },
      {
        trace: at + of,
        id: at + 20 + of,
        cpid: root!,
        start: time,
        attributes: { 'cpid.observed': [`${object(of)}?rv=9`] },
      },
      { trace: at + of, id: at + 30 + of, cpid: unexplained!, start: time },
      { trace: at + 50 + of, id: at + 50 + of, start: time },
      ...['request', 'nobody'].map((name, nth) => ({
        ...{ trace: at + 80 + of, id: at + 80 + of + nth * 10_000, start: time },
        attributes: { 'audit-id': `${name} ${at + of}` },
      })),
      { trace: at + 70 + of, id: at + 70 + of, parent: 95_000 + of, start: time },
    ])
    const measured = { 'k8s.pod.cpu.usage': [[time, 0.5]] } as const
    writer.ingest('metrics', metricsRequest([{ uid: `pod-${at + of}`, metrics: measured }]))
    writer.logs(`pod ${at + of}`, [
      { body: 'of a change', cpid: root! },
      { body: 'of a span that never comes', trace: at + of, span: 80_000 },
      { body: 'of nothing' },
    ])
    writer.mergelogs('merger', [
      { new: root!, time, object: object(of) },
      { new: merge!, sources: [root!], time },
    ])
    look()
  }
  // More descendants than are explained at once, of a change whose mergelog comes last.
  const late = cpid(1_000_000 * (day + 1))
  const descendants = Array.from({ length: 1_000 }, (_, of) => cpid(1_000_000 * (day + 1) + of + 1))
  writer.mergelogs(
    'merger',
    descendants.map((descendant) => ({ new: descendant, sources: [late], time: day * DAY })),
  )
  writer.mergelogs('merger', [{ new: late, time: day * DAY }])
  look()
  for (let of = 1; of <= 100; of++)
    writer.mergelogs('faulty', [{ new: cpid(7), sources: [cpid(7)], time: at + of }])
  const aside = {
    stage: 'linking',
    kind: 'span',
    cpid: undefined,
    exporter: undefined,
    reason: 'it broke',
  } as const
  writer.writer.setAside(Array.from({ length: 20 }, (_, of) => ({ ...aside, item: at + of })))
  look()
  tellOfCluster(writer, day, look)
  while (rows('unfinished_steps') === 0 && writer.writer.link(2, () => false) > 0);
  look()
  writer.link()
  look()
  prune()
  writer.pass(11_000)
  look()
  writer.pass(2 * HOUR)
  writer.writer.keepSpanBlocks(() => true)
  look()
  archiveTakesAll()
  writer.exporterMoved('traces', 'otlp/one')
  writer.exporterMoved('logs', 'otlp/one')
  writer.exporterMoved('metrics', 'otlp/one')
  for (let hour = 0; hour < 22; hour++) {
    writer.clock.advance(HOUR)
    prune()
  }
  look()
}

test('every table has an owner that bounds it, and no other is named', () => {
  expect(tables).toEqual(Object.keys(KEPT).sort())
})

describe('a table that a week of everything has filled comes back to what it may keep', () => {
  const firstDays = new Map<string, number>()
  const lastDays = new Map<string, number>()
  beforeAll(() => {
    writer.keepExporters('traces', ['otlp/one'])
    writer.writer.keepArchives(['archive'])
    writer.keepExporters('logs', ['otlp/one'])
    writer.keepExporters('metrics', ['otlp/one'])
    for (let day = 0; day < 8; day++) aDay(day, day < 5 ? firstDays : lastDays)
    writer.clock.advance(8 * DAY)
    for (let turn = 0; turn < 3; turn++) {
      prune()
      archiveTakesAll()
    }
  })
  afterAll(() => writer[Symbol.dispose]())

  test.each(tables)('%s', (table) => {
    const { left } = KEPT[table]!
    expect(firstDays.get(table)).toBeGreaterThan(0)
    expect(rows(table)).toBeLessThanOrEqual(left)
  })

  // Each day leaves as much as the one before: what stays from day to day shows here.
  test.each(tables.filter((table) => !['cpids', 'set_aside', 'rejected_items'].includes(table)))(
    '%s holds no more after a week than after some days',
    (table) => {
      expect(lastDays.get(table)).toBeLessThanOrEqual(Math.max(KEPT[table]!.left, firstDays.get(table)!))
    },
  )
})

test('refused mergelogs and remarks are bounded by their number long before their time', async () => {
  using faulty = await TestWriter.open({ retention: RETENTION })
  for (let at = 0; at < 700; at++)
    faulty.mergelogs('faulty', [{ new: cpid(7), sources: [cpid(7)], time: at }])
  const count = (table: string): unknown => faulty.rows(table)
  expect(count('rejected_mergelogs')).toBe(REFUSED_MERGELOGS)
  expect(count('rejected_items')).toBe(REFUSED_ITEMS)
})
