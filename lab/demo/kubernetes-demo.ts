// A real Kubernetes, a Causeway that looks at it from outside, and a rollout as its cascade: npm run demo:kubernetes.
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildDashboard } from '../../examples/demo/build-dashboard.ts'
import { isListening } from '../../examples/demo/processes/busy-ports.ts'
import { EVERYTHING_LISTED } from '../../src/model/kubernetes-observations.ts'
import { BIN } from '../harness/causeway/causeway-process.ts'
import { eventually } from '../harness/eventually.ts'
import { Cluster } from '../harness/kubernetes/cluster.ts'
import { RunningProgram } from '../harness/processes/running-program.ts'
import { oldestGo } from '../peers/peer-versions.ts'

const USAGE = `Usage: npm run demo:kubernetes -- [options]

Builds a real Kubernetes where it is not built yet (that needs Go ${oldestGo}, and goes into ~/.cache/causeway-peers or
CAUSEWAY_PEERS_DIR), watches it while alice rolls out a Deployment, and shows the cascade. Ctrl-C ends all of it.

  --keep                     leave all of it running, with the dashboard, until Ctrl-C
  --dashboard <host:port>    where the dashboard is to listen (localhost:4319)
  --settle-after <duration>  how much silence ends a cascade (5s)
  --help                     print this
`
const LONGEST_WAIT_MS = 120_000
const SIGNALLED = 128

const stop = new AbortController()
// A second Ctrl-C would otherwise end it before it has ended what it started.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))

const say = (line: string): void => void process.stdout.write(`${line}\n`)
const until = <T>(check: () => T | Promise<T>): Promise<T> => eventually(check, LONGEST_WAIT_MS, stop.signal)

interface Options {
  keep: boolean
  dashboard: string
  settleAfter: string
}

/** Reads the command line; undefined when it asks for help. Throws an Error that says what to write instead. */
function readOptions(args: string[]): Options | undefined {
  try {
    const { values } = parseArgs({
      args,
      options: {
        keep: { type: 'boolean', default: false },
        dashboard: { type: 'string', default: 'localhost:4319' },
        'settle-after': { type: 'string', default: '5s' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return undefined
    return { keep: values.keep, dashboard: values.dashboard, settleAfter: values['settle-after'] }
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ', 1)
    throw new Error(`${sentence}; npm run demo:kubernetes -- --help lists the options`, { cause: error })
  }
}

/** What Causeway is told: watch the cluster, read its audit log, keep what is seen, and answer. */
const configOf = (directory: string, cluster: Cluster, options: Options): object => ({
  receivers: {
    k8s_objects: { cluster: 'demo', auth_type: 'kubeConfig', kubeconfig: cluster.kubeconfig('causeway') },
    k8s_audit: { cluster: 'demo', log: { path: cluster.auditLog, start_at: 'beginning' } },
  },
  connectors: {
    cpid: {
      storage: { path: join(directory, 'causeway.db') },
      linking: { wait: '2s', settle_after: options.settleAfter },
      inference: { controllers: ['kwok'] },
    },
  },
  extensions: { cpid_query: { endpoint: options.dashboard } },
  service: {
    extensions: ['cpid_query'],
    telemetry: { metrics: { level: 'none' } },
    pipelines: { 'traces/in': { receivers: ['k8s_objects', 'k8s_audit'], exporters: ['cpid'] } },
  },
})

interface Cascades {
  cascades: { root: string; state: string }[]
}

async function show(directory: string, options: Options): Promise<void> {
  if (await isListening(options.dashboard)) {
    throw new Error(
      `Another program listens on ${options.dashboard}; stop it, or choose another address with --dashboard`,
    )
  }
  say('Starting etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok …')
  const users = { alice: ['developers'], causeway: ['observers'] }
  await using cluster = await Cluster.start(join(directory, 'cluster'), {
    users,
    auditLevel: 'RequestResponse',
    signal: stop.signal,
  })
  const config = join(directory, 'causeway.yaml')
  await writeFile(config, JSON.stringify(configOf(directory, cluster, options)))
  const causeway = (...args: string[]): RunningProgram =>
    new RunningProgram({
      name: 'Causeway',
      command: process.execPath,
      args: [BIN, ...args, '--config', config],
    })
  await using running = causeway('run')
  await until(() => (running.hasEnded ? undefined : answers(options.dashboard)))
  if (running.hasEnded) throw new Error(running.lastWords())
  // What is done before that is there when it is listed, instead of being seen to be written.
  await until(() => {
    if (!running.said(EVERYTHING_LISTED)) throw new Error(`not everything is listed: ${running.lastWords()}`)
  })

  say('alice: kubectl create deployment web --image=nginx:1 --replicas=3')
  await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  say('alice: kubectl expose deployment web --port=80')
  await cluster.kubectl('alice', 'expose', 'deployment', 'web', '--port=80')
  say('alice: kubectl set image deployment/web nginx=nginx:2')
  await cluster.kubectl('alice', 'set', 'image', 'deployment/web', 'nginx=nginx:2')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')

  const list = ['cascades', '--actor', 'alice', '--object', 'apps/v1/deployments/default/web']
  const [root = ''] = await until(() => settled(causeway(...list, '--format', 'json')))
  say(`\nWhat came of the new image, as "npx causeway cascade ${root}" tells it:\n`)
  say(await causeway('cascade', root).output())
  if (!options.keep) {
    say(
      `With "npm run demo:kubernetes -- --keep" all goes on running, and the dashboard is at http://${options.dashboard}.`,
    )
    return
  }
  await buildDashboard(say, stop.signal)
  say(
    `The dashboard is at http://${options.dashboard}/cascades/${root}. The cluster: KUBECONFIG=${cluster.kubeconfig('alice')}`,
  )
  say('Ctrl-C ends all of it.')
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
}

async function answers(dashboard: string): Promise<void> {
  const { ok } = await fetch(`http://${dashboard}/api/v1/cascades`)
  if (!ok) throw new Error('it does not answer yet')
}

/** The roots of the cascades that are told of, newest first, once both have settled. */
async function settled(asked: RunningProgram): Promise<string[]> {
  const { cascades } = JSON.parse(await asked.output()) as Cascades
  if (cascades.length < 2 || cascades.some(({ state }) => state !== 'settled'))
    throw new Error(`${cascades.length} cascades, not all of them settled`)
  return cascades.map(({ root }) => root)
}

async function runIn(directory: string, options: Options): Promise<void> {
  try {
    await show(directory, options)
  } catch (error) {
    if (stop.signal.aborted)
      process.exitCode = SIGNALLED + constants.signals[stop.signal.reason as NodeJS.Signals]
    else throw error
  } finally {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

try {
  const options = readOptions(process.argv.slice(2))
  if (options === undefined) process.stdout.write(USAGE)
  else await runIn(await mkdtemp(join(tmpdir(), 'causeway-demo-')), options)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
