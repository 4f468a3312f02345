import { expect, test } from '@jest/globals'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  InMemoryLogRecordExporter,
  LoggerProvider,
  SimpleLogRecordProcessor,
  type ReadableLogRecord,
} from '@opentelemetry/sdk-logs'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace'
import { traceCluster } from '../../packages/instrumentation/src/kubernetes/index.ts'
import { cpid } from '../support/otlp-requests.ts'
import { Api, httpApi, startServer, type Stored } from './support/asked-server.ts'
import { startSdk } from './support/start-sdk.ts'

const CPID = 'causeway.io/cpid'
const MAPS = '/api/v1/namespaces/default/configmaps'

const stored = (uid: string, number?: number, resourceVersion = '7'): Stored => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {
    name: 'settings',
    namespace: 'default',
    uid,
    resourceVersion,
    ...(number !== undefined && { annotations: { [CPID]: cpid(number) } }),
  },
})

/** Clusters of one process, whose spans and mergelogs are told apart by the resource that sends them. */
function severalClusters(newCpid: () => string) {
  const spans = new InMemorySpanExporter()
  const records = new InMemoryLogRecordExporter()
  const clusterNamed = (cluster: string) => {
    const resource = resourceFromAttributes({ 'k8s.cluster.name': cluster })
    const traced = traceCluster(
      { makeApiClient: (type: typeof Api) => new type({ httpApi }) },
      {
        cluster,
        newCpid,
        tracerProvider: new TracerProvider({
          resource,
          spanProcessors: [new SimpleSpanProcessor({ exporter: spans })],
        }),
        loggerProvider: new LoggerProvider({
          resource,
          processors: [new SimpleLogRecordProcessor({ exporter: records })],
        }),
      },
    )
    return { ...traced, api: traced.kubeConfig.makeApiClient(Api) }
  }
  const nameOf = ({ resource }: ReadableSpan | ReadableLogRecord) => resource.attributes['k8s.cluster.name']
  return {
    clusterNamed,
    spans: () =>
      spans.getFinishedSpans().map((span) => ({
        name: span.name,
        cluster: nameOf(span),
        attributes: span.attributes,
        id: span.spanContext().spanId,
        parent: span.parentSpanContext?.spanId,
      })),
    records: () =>
      records.getFinishedLogRecords().map((record) => ({
        cluster: nameOf(record),
        cpid: record.attributes['cpid.new'],
        sources: record.attributes['cpid.sources'],
      })),
  }
}

/** A cache of one object, which is told as informers tell theirs. */
class Cache {
  #object: Stored | undefined
  readonly #told: ((object: Stored) => void)[] = []
  on(verb: string, tell: (object: Stored) => void): void {
    if (verb === 'add') this.#told.push(tell)
  }
  get(): Stored | undefined {
    return this.#object
  }
  list(): Stored[] {
    return this.#object === undefined ? [] : [this.#object]
  }
  add(object: Stored): Stored {
    this.#object = object
    for (const tell of this.#told) tell(object)
    return object
  }
}

/** CPIDs one after the other, whichever cluster they are made for. */
function counting(): () => string {
  let next = 100
  return () => cpid(next++)
}

const TYPE = { apiVersion: 'v1', kind: 'ConfigMap' }

test('what a reconcile of an object writes in other clusters is of its change, and each step is one of its cluster', async () => {
  await using sdk = startSdk()
  await using server = await startServer(({ body }) => [201, { ...stored('u-member'), ...body }])
  const { clusterNamed, spans, records } = severalClusters(counting())
  const [host, west, east] = ['host', 'west', 'east'].map(clusterNamed)
  const cache = new Cache()
  const informer = host!.informer(cache, TYPE)
  const spread = host!.reconciler('spread', async () => {
    const data = informer.get()
    for (const member of [west!, east!]) {
      const metadata = { name: 'settings', namespace: 'default', uid: 'u-member', resourceVersion: '3' }
      await member.api.ask('POST', server.url + MAPS, { ...data, metadata })
    }
  })
  spread.wokenBy('settings', cache.add(stored('u-host')))
  await spread('settings')

  expect(sdk.spans()).toEqual([])
  const [root, ...others] = records()
  expect(others).toEqual([])
  expect(root).toMatchObject({ cluster: 'host', sources: [] })
  const [asked, inWest, inEast, reconcile] = spans()
  expect([asked, reconcile, inWest, inEast].map((span) => [span?.name, span?.cluster])).toEqual([
    ['write v1/configmaps', 'host'],
    ['spread', 'host'],
    ['create v1/configmaps', 'west'],
    ['create v1/configmaps', 'east'],
  ])
  expect([inWest, inEast].map((span) => span?.parent)).toEqual([reconcile?.id, reconcile?.id])
  expect(new Set(spans().map(({ attributes }) => attributes['cpid.id']))).toEqual(new Set([root?.cpid]))
  expect(server.asked.map(({ body }) => body?.metadata?.annotations?.[CPID])).toEqual([
    root?.cpid,
    root?.cpid,
  ])
  // An object of the host is none of a member's, whatever it is called.
  expect(reconcile?.attributes['cpid.observed']).toEqual(['v1/configmaps/default/settings?uid=u-host&rv=7'])
  expect([inWest, inEast].map((span) => span?.attributes['cpid.observed'])).toEqual([undefined, undefined])
})

test('a merge that the first cluster refuses is told once another one takes it', async () => {
  await using sdk = startSdk()
  let version = 7
  await using server = await startServer(({ path }) =>
    path.startsWith('/west')
      ? [503, { kind: 'Status', message: 'down' }]
      : [200, stored('u-east', 100, String(++version))],
  )
  const { clusterNamed, records, spans } = severalClusters(counting())
  const [host, west, east] = ['host', 'west', 'east'].map(clusterNamed)
  const spread = host!.reconciler('spread', async () => {
    await west!.api.ask('PUT', `${server.url}/west${MAPS}/settings`, stored('u-west', 2))
    await east!.api.ask('PUT', `${server.url}/east${MAPS}/settings`, stored('u-east', 2))
    await east!.api.ask('PUT', `${server.url}/east${MAPS}/settings`, stored('u-east', 2))
  })
  spread.wokenBy('settings', stored('u-host', 1))
  await spread('settings')

  expect(server.asked.map(({ body }) => body?.metadata?.annotations?.[CPID])).toEqual(
    Array(3).fill(cpid(100)),
  )
  expect(sdk.records()).toEqual([])
  expect(records().map(({ cpid, sources }) => ({ cpid, sources }))).toEqual([
    { cpid: cpid(100), sources: [cpid(1), cpid(2)] },
  ])
  expect(spans().map(({ name, cluster }) => `${name} ${String(cluster)}`)).toEqual([
    'update v1/configmaps west',
    'update v1/configmaps east',
    'update v1/configmaps east',
    'spread host',
  ])
})

test('a reconcile that an object of another cluster woke follows from it, and does not claim to have seen it in its own', async () => {
  await using sdk = startSdk()
  let version = 7
  await using server = await startServer(() => [200, stored('u-host', 7, String(++version))])
  const { clusterNamed, spans } = severalClusters(counting())
  const [host, west] = ['host', 'west'].map(clusterNamed)
  const cache = new Cache()
  west!.informer(cache, TYPE)
  const collect = async () => {
    await host!.api.ask('PATCH', `${server.url}${MAPS}/settings`, { data: {} })
  }
  const waker = cache.add(stored('u-west', 7))
  for (const [name, cluster] of [
    ['collect in host', host!],
    ['collect in west', west!],
  ] as const) {
    const traced = cluster.reconciler(name, collect)
    traced.wokenBy('settings', waker)
    await traced('settings')
  }
  expect(sdk.spans()).toEqual([])
  const told = spans().map(({ name, cluster, attributes }) => [
    `${name}, ${String(cluster)}`,
    attributes['cpid.id'],
    attributes['cpid.observed'],
  ])
  expect(told).toEqual([
    ['patch v1/configmaps, host', cpid(7), undefined],
    ['collect in host, host', cpid(7), undefined],
    ['patch v1/configmaps, host', cpid(7), undefined],
    ['collect in west, west', cpid(7), ['v1/configmaps/default/settings?uid=u-west&rv=7']],
  ])
})
