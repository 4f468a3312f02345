import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { TestApiServer } from '../../test/cluster/support/test-api-server.ts'
import { cpid, mergelogsRequest, spansRequest } from '../../test/support/otlp-requests.ts'
import { CausewayProcess } from '../harness/causeway/causeway-process.ts'
import { exporterTo, freshSettings, type CausewaySettings } from '../harness/causeway/causeway-settings.ts'
import { grpcClient, type OtlpClient } from '../harness/clients/otlp-client.ts'
import { eventually } from '../harness/eventually.ts'
import { TraceBackend } from '../harness/sinks/trace-backend.ts'
import { calledOnlyIn, countsOf, ranOf, type Counts, type CoverageReport, type Ran } from './coverage.ts'

export interface Walks {
  span: Counts
  mergelog: Counts
  search: Counts
  pod: Counts
  start: { files: number }
}

/** An action on a Causeway whose database has an explained cascade of one span. */
type Action = (to: {
  client: OtlpClient
  query: string
  sent: TraceBackend
  cluster: TestApiServer
}) => Promise<void>

const SOURCES = new URL('../../src/', import.meta.url).href
const ANSWER_MS = 60_000
const IDLE_MS = 2_500
const PODS = { group: '', version: 'v1', resource: 'pods', kind: 'Pod' }

/** Stands idle until what is done every second was done, whatever comes in. */
const nothing: Action = () => setTimeout(IDLE_MS)

const span: Action = async ({ client, sent }) => {
  await client.spans(spansRequest('web', [{ trace: 2, id: 2, name: 'walked', cpid: cpid(1) }]))
  await eventually(() => isTrue(sent.names.has('walked'), 'the span was not sent on'))
}

const mergelog: Action = async ({ client }) => {
  await client.logs(mergelogsRequest('web', [{ new: cpid(2), sources: [cpid(1)] }]))
}

const search: Action = async ({ query }) => {
  const response = await fetch(
    `http://${query}/tempo/api/search?q=${encodeURIComponent('{ name = "stored" }')}`,
  )
  const { traces } = (await response.json()) as { traces?: unknown[] }
  isTrue(traces?.length === 1, 'the search did not find the trace')
}

const pod: Action = async ({ cluster, sent }) => {
  await eventually(() => isTrue(cluster.watchers > 0, 'nobody watches'))
  cluster.history.put({ name: 'web-1', ...PODS, apiVersion: 'v1' })
  await eventually(() => isTrue(sent.spans.length > 0, 'the Pod was not sent on'))
}

/** Follows each item through a real Causeway in a folder; `onRun` is called after each process. */
export async function measureWalks(folder: string, onRun: () => void): Promise<Walks> {
  const stored = join(folder, 'stored')
  mkdirSync(stored)
  await run(stored, storeOne)
  const ranWith = async (name: string, act: Action, watches = false): Promise<Ran> => {
    const home = join(folder, name)
    cpSync(join(stored, 'data'), join(home, 'data'), { recursive: true })
    const ran = await run(home, act, watches)
    onRun()
    return ran
  }
  const idle = await ranWith('idle', nothing)
  const watching = await ranWith('watching', nothing, true)
  const countsWith = async (name: string, act: Action): Promise<Counts> =>
    countsOf(calledOnlyIn(await ranWith(name, act), idle))
  return {
    span: await countsWith('span', span),
    mergelog: await countsWith('mergelog', mergelog),
    search: await countsWith('search', search),
    pod: countsOf(calledOnlyIn(await ranWith('pod', pod, true), watching)),
    start: { files: idle.files.size },
  }
}

function isTrue(is: boolean, otherwise: string): void {
  if (!is) throw new Error(otherwise)
}

/** Stores the span and the mergelog that explains its CPID. */
const storeOne: Action = async ({ client, sent }) => {
  await client.logs(mergelogsRequest('web', [{ new: cpid(1) }]))
  await client.spans(spansRequest('web', [{ trace: 1, id: 1, name: 'stored', cpid: cpid(1) }]))
  await eventually(() => isTrue(sent.names.has('stored'), 'the span was not sent on'))
}

/** A Causeway from its start to its end, on the database in its folder, with this action in between. */
async function run(home: string, act: Action, watches = false): Promise<Ran> {
  const reports = join(home, 'coverage')
  await using sent = await TraceBackend.up()
  await using cluster = await TestApiServer.start()
  cluster.served = [PODS]
  const settings: CausewaySettings = {
    ...(await freshSettings({ exporters: { 'otlp_grpc/sink': exporterTo(sent.port) } })),
    home,
    database: join(home, 'data', 'causeway.db'),
    ...(watches && { patch: watchOf(home, cluster.url) }),
  }
  // What was compiled before is less exact about what is called.
  const covered = ['env', `NODE_V8_COVERAGE=${reports}`, 'NODE_DISABLE_COMPILE_CACHE=1']
  await using causeway = new CausewayProcess(settings, undefined, covered)
  await causeway.ready()
  const client = grpcClient(`127.0.0.1:${settings.ports.grpc}`, ANSWER_MS)
  await act({ client, query: `127.0.0.1:${settings.ports.query}`, sent, cluster })
  client.close()
  const { code } = await causeway.end('SIGTERM')
  isTrue(code === 0, `Causeway ended with ${code}:\n${causeway.errors}`)
  const files = readdirSync(reports).map((name) => readFileSync(join(reports, name), 'utf8'))
  return ranOf(
    files.map((text) => JSON.parse(text) as CoverageReport),
    SOURCES,
  )
}

/** The configuration patch that makes a Causeway watch a cluster. */
function watchOf(home: string, server: string): Record<string, unknown> {
  const kubeconfig = join(home, 'kubeconfig')
  const clusters = [{ name: 'c', cluster: { server } }]
  const contexts = [{ name: 'x', context: { cluster: 'c', user: '' } }]
  writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'x', clusters, contexts }))
  return {
    receivers: { k8s_objects: { cluster: 'c', auth_type: 'kubeConfig', kubeconfig } },
    service: { pipelines: { 'traces/in': { receivers: ['otlp', 'k8s_objects'], exporters: ['cpid'] } } },
  }
}
