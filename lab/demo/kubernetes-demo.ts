// A real Kubernetes, a Causeway that looks at it from outside, and a rollout as its cascade: npm run demo:kubernetes.
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildDashboard } from '../../examples/demo/build-dashboard.ts'
import { BIN } from '../harness/causeway/causeway-process.ts'
import { eventually } from '../harness/eventually.ts'
import { Cluster } from '../harness/kubernetes/cluster.ts'
import { RunningProgram } from '../harness/processes/running-program.ts'
import { EVERYTHING_LISTED } from '../../src/model/kubernetes/everything-listed.ts'
import { PeerInstallError } from '../peers/run-go.ts'

const { values: options } = parseArgs({
  options: {
    keep: { type: 'boolean', default: false },
    dashboard: { type: 'string', default: 'localhost:4319' },
    'settle-after': { type: 'string', default: '5s' },
  },
})
const LONGEST_WAIT_MS = 120_000
const DASHBOARD = options.dashboard

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** What Causeway is told: watch the cluster, read its audit log, keep what is seen, and answer. */
const configOf = (directory: string, cluster: Cluster): object => ({
  receivers: {
    k8s_objects: { cluster: 'demo', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('causeway') },
    k8s_audit: { cluster: 'demo', log: { path: cluster.auditLog, start_at: 'beginning' } },
  },
  connectors: {
    cpid: {
      storage: { path: join(directory, 'causeway.db') },
      linking: { wait: '2s', settle_after: options['settle-after'] },
      inference: { controllers: ['kwok'] },
    },
  },
  extensions: { cpid_query: { endpoint: DASHBOARD } },
  service: {
    extensions: ['cpid_query'],
    telemetry: { metrics: { level: 'none' } },
    pipelines: { 'traces/in': { receivers: ['k8s_objects', 'k8s_audit'], exporters: ['cpid'] } },
  },
})

interface Cascades {
  cascades: { root: string; state: string }[]
}

async function show(directory: string): Promise<void> {
  say(
    'Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok (built once, which takes ten minutes) …',
  )
  const users = { alice: ['developers'], causeway: ['observers'] }
  await using cluster = await Cluster.start(join(directory, 'cluster'), {
    users,
    auditLevel: 'RequestResponse',
  })
  const config = join(directory, 'causeway.yaml')
  await writeFile(config, JSON.stringify(configOf(directory, cluster)))
  const causeway = (...args: string[]): RunningProgram =>
    new RunningProgram({
      name: 'Causeway',
      command: process.execPath,
      args: [BIN, ...args, '--config', config],
    })
  await using running = causeway('run')
  await eventually(() => answers(running), LONGEST_WAIT_MS)
  // What is done before that is there when it is listed, instead of being seen to be written.
  await eventually(() => {
    if (!running.said(EVERYTHING_LISTED)) throw new Error(`not everything is listed: ${running.lastWords()}`)
  }, LONGEST_WAIT_MS)

  say('alice: kubectl create deployment web --image=nginx:1 --replicas=3')
  await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  say('alice: kubectl expose deployment web --port=80')
  await cluster.kubectl('alice', 'expose', 'deployment', 'web', '--port=80')
  say('alice: kubectl set image deployment/web nginx=nginx:2')
  await cluster.kubectl('alice', 'set', 'image', 'deployment/web', 'nginx=nginx:2')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')

  const list = ['cascades', '--actor', 'alice', '--object', 'apps/v1/deployments/default/web']
  const [root = ''] = await eventually(() => settled(causeway(...list, '--format', 'json')), LONGEST_WAIT_MS)
  say(`\nWhat came of the new image, as "npx causeway cascade ${root}" tells it:\n`)
  say(await causeway('cascade', root).output())
  if (!options.keep) {
    say(
      `With "npm run demo:kubernetes -- --keep" all goes on running, and the dashboard is at http://${DASHBOARD}.`,
    )
    return
  }
  await buildDashboard(say, new AbortController().signal)
  say(
    `The dashboard is at http://${DASHBOARD}/cascades/${root}. The cluster: KUBECONFIG=${cluster.kubeconfig('alice')}`,
  )
  say('Ctrl-C ends all of it.')
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
}

async function answers(causeway: RunningProgram): Promise<void> {
  if (causeway.hasEnded) throw new Error(causeway.lastWords())
  const { ok } = await fetch(`http://${DASHBOARD}/api/v1/cascades`)
  if (!ok) throw new Error('it does not answer yet')
}

/** The roots of the cascades that are told of, newest first, once both have settled. */
async function settled(asked: RunningProgram): Promise<string[]> {
  const { cascades } = JSON.parse(await asked.output()) as Cascades
  if (cascades.length < 2 || cascades.some(({ state }) => state !== 'settled'))
    throw new Error(`${cascades.length} cascades, not all of them settled`)
  return cascades.map(({ root }) => root)
}

const directory = await mkdtemp(join(tmpdir(), 'causeway-demo-'))
try {
  await show(directory)
} catch (error) {
  if (!(error instanceof PeerInstallError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
} finally {
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}
