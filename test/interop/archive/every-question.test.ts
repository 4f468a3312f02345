import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { fileURLToPath } from 'node:url'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { ClickHouseServer } from '../../../lab/harness/clickhouse-server.ts'
import { cpid } from '../../support/otlp-requests.ts'
import { Causeway } from '../support/causeway.ts'
import { type Scene, sceneTest } from '../support/scene.ts'
import { nanosNow, sendOtlp } from '../support/send-otlp.ts'

const CONFIG = fileURLToPath(new URL('../../../otel-config.yaml', import.meta.url))
const SOON = { initial_interval: '100ms', max_interval: '300ms' }
const text = (key: string, stringValue: string): object => ({ key, value: { stringValue } })
const texts = (key: string, values: readonly string[]): object => ({
  key,
  value: { arrayValue: { values: values.map((stringValue) => ({ stringValue })) } },
})

async function start(scene: Scene, server: ClickHouseServer, causeway: string): Promise<Causeway> {
  const access = { endpoint: server.endpoint, username: 'writer', password: 'secret' }
  return await Causeway.start(scene, {
    exporters: {
      clickhouse: { ...access, causeway, flush_interval: '50ms', retry_on_failure: SOON },
    },
    set: {
      'extensions.cpid_query.archive': { ...access, timeout: '30s' },
      'connectors.cpid.linking.wait': '500ms',
      'connectors.cpid.linking.settle_after': '1500ms',
    },
  })
}

function resourceOf(service: string, cluster: string): object {
  return { attributes: [text('service.name', service), text('k8s.cluster.name', cluster)] }
}

interface Change {
  readonly of: string
  readonly sources?: readonly string[]
  readonly object: string
  readonly observed?: readonly string[]
}

let ids = 0
/** A mergelog, and a reconcile of it that writes its object by a request below it. */
async function change(
  causeway: Causeway,
  cluster: string,
  { of, sources = [], object, observed = [] }: Change,
): Promise<string> {
  const logRecords = [
    {
      timeUnixNano: nanosNow(),
      eventName: 'cpid.mergelog',
      attributes: [
        text('cpid.new', of),
        texts('cpid.sources', sources),
        text('cpid.object', object),
        text('cpid.reason', 'because'),
      ],
    },
  ]
  await sendOtlp(causeway.otlpHttp, 'logs', {
    resourceLogs: [{ resource: resourceOf('kubectl', cluster), scopeLogs: [{ logRecords }] }],
  })
  const traceId = (++ids).toString(16).padStart(32, '0')
  const now = BigInt(nanosNow())
  const span = (
    id: number,
    name: string,
    startNs: bigint,
    attributes: object[],
    parent?: number,
  ): object => ({
    ...{ traceId, spanId: (ids * 16 + id).toString(16).padStart(16, '0'), name, attributes },
    ...{ startTimeUnixNano: String(startNs), endTimeUnixNano: String(startNs + 2_000_000n) },
    ...(parent !== undefined && { parentSpanId: (ids * 16 + parent).toString(16).padStart(16, '0') }),
  })
  const spans = [
    span(1, 'reconcile', now, [text('cpid.id', of), texts('cpid.observed', observed)]),
    span(2, 'update', now + 1_000_000n, [text('cpid.id', of), texts('cpid.wrote', [object])], 1),
  ]
  await sendOtlp(causeway.otlpHttp, 'traces', {
    resourceSpans: [{ resource: resourceOf('controller', cluster), scopeSpans: [{ spans }] }],
  })
  return (ids * 16 + 2).toString(16).padStart(16, '0')
}

const [EAST, EAST_STEP, WEST, WEST_STEP, JOINT] = [1, 2, 3, 4, 5].map(cpid) as [
  string,
  string,
  string,
  string,
  string,
]

const DEPLOYMENT = 'apps/v1/deployments/shop/web'
const CART = 'apps/v1/deployments/shop/cart'

/** Two clusters with a Causeway each; a change of east goes on in west, whose Causeway has then forgotten nearly all. */
async function startFleet(scene: Scene) {
  const server = scene.use(await ClickHouseServer.start())
  const east = await start(scene, server, 'prod-east')
  const west = await start(scene, server, 'prod-west')
  const span = await change(east, 'east', { of: EAST, object: `${DEPLOYMENT}?rv=1` })
  const pod = { object: 'v1/pods/shop/web-1?rv=2', observed: [`${DEPLOYMENT}?rv=1`] }
  await change(east, 'east', { of: EAST_STEP, sources: [EAST], ...pod })
  const gone = await change(west, 'west', { of: WEST, object: `${CART}?rv=3` })
  const cart = { object: 'v1/pods/shop/cart-1?rv=4', observed: [`${CART}?rv=3`] }
  await change(west, 'west', { of: WEST_STEP, sources: [WEST], ...cart })
  await change(west, 'west', { of: JOINT, sources: [EAST], object: 'v1/pods/shop/member-1?rv=5' })
  await scene.eventually(async () => {
    const [row] = await server.rows(
      `SELECT (SELECT count() FROM causeway.audit_cascades WHERE state = 'settled') AS settled,
         (SELECT count() FROM causeway.audit_cascade_spans) AS spans, (SELECT count() FROM causeway.audit_spans) AS received`,
    )
    expect(row).toEqual({ settled: 3, spans: 10, received: 10 })
  })
  return { server, east, west, span, gone }
}

/** Retention removes what is settled and archived, but for what was first seen last. */
async function prune(server: ClickHouseServer, causeway: Causeway): Promise<void> {
  const set = {
    'connectors.cpid.storage.path': causeway.database,
    'connectors.cpid.retention.max_cpids': 1,
    'exporters.clickhouse': { endpoint: server.endpoint, causeway: 'prod-west' },
    'service.pipelines.traces/out.exporters': ['clickhouse'],
  }
  const sets = Object.entries(set).flatMap(([path, value]) => ['--set', `${path}=${JSON.stringify(value)}`])
  await promisify(execFile)(process.execPath, [BIN, 'prune', '--config', CONFIG, ...sets])
  expect(causeway.stored('SELECT root FROM audit_cascades')).toEqual([])
}

type Answer = Record<string, unknown> & { partial?: string; error?: { code: string; message: string } }

async function askApi(causeway: Causeway, path: string): Promise<Answer> {
  const response = await fetch(`http://${causeway.query}/api/v1${path}`)
  return (await response.json()) as Answer
}

/** What is answered whole. */
const WHOLE = ['', '/related', '/ancestors', '/roots', '/mergelogs', '/cascades', '/graph']
/** What only the Causeway has that received it. */
const RECEIVED = ['/spans', '/logs']

sceneTest('no question leaves out what only the archive has without a word', async (scene) => {
  const { server, east, west, span, gone } = await startFleet(scene)
  // The part of the other cluster is not here, and that is said.
  const held = await askApi(east, `/cascades/${EAST}`)
  expect(held).toMatchObject({ spans: 4, partial: expect.stringMatching(/prod-west \(trace [0-9a-f]{32}\)/) })
  const before = Object.fromEntries(
    await Promise.all(
      [EAST, EAST_STEP, JOINT].flatMap((of) =>
        WHOLE.map(async (path) => [`${of}${path}`, await askApi(east, `/cpids/${of}${path}`)] as const),
      ),
    ),
  )
  expect(await west.stop()).toBe(0)
  await prune(server, west)
  await west.startAgain()

  // The other one is killed; what it archived is told still.
  await east.kill()
  for (const which of [EAST, EAST_STEP, JOINT]) {
    // Asked of either, and though the one has forgotten everything.
    for (const path of WHOLE)
      expect(await askApi(west, `/cpids/${which}${path}`)).toEqual(before[`${which}${path}`])
    for (const path of RECEIVED)
      expect((await askApi(west, `/cpids/${which}${path}`)).error?.code).toBe('archived')
  }
  expect(before[`${EAST}/mergelogs`]?.['mergelogs']).toMatchObject(
    [EAST, EAST_STEP, JOINT].map((of) => ({ cpid: of, reason: 'because' })),
  )
  expect(before[`${JOINT}/graph`]).toMatchObject({
    nodes: [
      { cpid: JOINT, cluster: 'west', root: false, distance: 0 },
      { cpid: EAST, cluster: 'east', root: true, explained: true, distance: -1 },
    ],
    edges: [{ source: EAST, target: JOINT }],
  })
  expect(before[`${JOINT}/cascades`]?.['cascades']).toMatchObject([
    { root: EAST, causeway: 'prod-west', drives: true },
    { root: EAST, causeway: 'prod-east', service: 'kubectl', drives: true },
  ])

  // Of all that archived something of it; and of one that the same Causeway held before.
  const told = { service: 'kubectl', cluster: 'east', object: `${DEPLOYMENT}?rv=1`, state: 'settled' }
  expect(await askApi(west, `/cascades/${EAST}`)).toMatchObject({
    ...{
      ...told,
      spans: 6,
      merges: 2,
      missing: 0,
      missingCpids: [],
      partial: expect.stringContaining('prod-east and prod-west'),
    },
    mergelogs: [EAST, EAST_STEP, JOINT].map((of) => ({ cpid: of })),
  })
  expect(await askApi(west, `/cascades/${WEST}`)).toMatchObject({
    spans: 4,
    object: `${CART}?rv=3`,
    partial: expect.any(String),
  })
  expect(await askApi(west, `/cascades/${EAST}/objects`)).toMatchObject({
    objects: [DEPLOYMENT, 'v1/pods/shop/web-1', 'v1/pods/shop/member-1'].map((object) => ({ object })),
    partial: expect.any(String),
  })
  expect(await askApi(west, `/cascades/${WEST}/compare/${EAST}`)).toMatchObject({
    ...{ a: { root: WEST, spans: 4 }, b: { root: EAST, spans: 6 }, partial: expect.any(String) },
  })
  for (const [root, id] of [
    [EAST, span],
    [WEST, gone],
  ])
    expect((await askApi(west, `/cascades/${root}/spans/${id}`)).error?.code).toBe('archived')

  expect(await askApi(west, `/objects/versions?ref=${DEPLOYMENT}`)).toMatchObject({
    versions: [{ object: `${DEPLOYMENT}?rv=1`, cpid: EAST, drivenBy: [EAST], causeway: 'prod-east' }],
  })
  expect(await askApi(west, '/objects/why?ref=web-1')).toMatchObject({
    versions: [{ object: 'v1/pods/shop/web-1?rv=2', begunBy: [EAST] }],
    changes: [{ root: EAST, service: 'kubectl' }],
  })
  const digits = EAST.replaceAll('-', '')
  for (const text of [EAST, digits, digits.slice(0, 31)])
    expect(await askApi(west, `/find?q=${text}`)).toMatchObject(
      text.length > 31
        ? { cpid: { cpid: EAST, state: 'known' }, cascades: [{ root: EAST, service: 'kubectl' }] }
        : { cpids: [EAST, EAST_STEP, WEST, WEST_STEP, JOINT] },
    )
  expect(await askApi(west, '/find?q=member')).toMatchObject({
    objects: ['v1/pods/shop/member-1'],
    cascades: [{ root: EAST }],
  })
  expect(await askApi(west, '/find?q=member&namespace=other')).toMatchObject({ objects: [], cascades: [] })
  for (const path of ['/mergelogs', '/spans', '/logs'])
    expect((await askApi(west, path)).partial).toMatch(/only what this Causeway stores/)
  // What nobody has is unknown still.
  for (const path of ['/cascades/', '/cpids/'])
    expect((await askApi(west, `${path}${cpid(99)}`)).error?.code).toBe('unknown_cpid')
  expect((await askApi(west, `/cascades/${EAST_STEP}`)).error?.code).toBe('unknown_cpid')

  const run = async (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    await promisify(execFile)(process.execPath, [
      BIN,
      ...args,
      '--archive',
      `${server.endpoint.replace('//', '//writer:secret@')}/causeway`,
    ])
  const shown = await run('cascade', JOINT)
  expect(shown.stdout).toMatch(/^cascade of .*00001 \(settled\)\n/)
  expect(shown.stderr).toMatch(/Note: this is what prod-east and prod-west archived/)
  expect(JSON.parse((await run('cascade', EAST, '--format', 'json')).stdout)).toMatchObject({
    cascades: [{ root: EAST, spans: 6, partial: expect.any(String) }],
  })
  expect((await run('mergelogs', EAST, '--limit', '2')).stdout.trim().split('\n')).toHaveLength(2)
  await expect(run('mergelogs')).rejects.toThrow(/name a CPID/)
  await expect(run('cascade', cpid(99))).rejects.toThrow(/no mergelog, span or log has named/)

  await east.startAgain()
  // Without the archive what is held is answered, and what is not is refused with why.
  await server[Symbol.asyncDispose]()
  expect((await askApi(west, `/cascades/${EAST}`)).error?.code).toBe('archive_silent')
  expect((await askApi(west, `/cpids/${EAST}/graph`)).error?.code).toBe('archive_silent')
  expect(await askApi(east, `/cascades/${EAST}`)).toMatchObject({
    spans: 4,
    partial: expect.stringMatching(/does not answer/),
  })
  expect((await askApi(east, '/objects/why?ref=web-1')).partial).toMatch(/does not answer/)
})
