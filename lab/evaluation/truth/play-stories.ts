// Plays stories on a real cluster and records what its watches and its audit log tell, beside who meant what.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join, parse } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createGzip } from 'node:zlib'
import { parseAllDocuments } from 'yaml'
import { optionsGiven, oneOf } from '../../harness/command-options.ts'
import { eventually } from '../../harness/eventually.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { Cluster } from '../../harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { stepsOfClocks } from './clocks/steps-of-clocks.ts'
import { Recorder } from './recorder.ts'
import { STORIES_OF_ABSENCES, STORIES_OF_CONTESTS } from './stories-of-contests.ts'
import { STORIES_OF_EDITS } from './stories-of-edits.ts'
import { STORIES_OF_EVICTIONS, STORIES_WITH_DESCHEDULER } from './stories-of-evictions.ts'
import { STORIES_OF_HANDOVERS } from './stories-of-handovers.ts'
import { STORIES_OF_NEIGHBOURS } from './stories-of-neighbours.ts'
import { STORIES_OF_PARTS } from './stories-of-parts.ts'
import { STORIES_OF_ROOMS } from './stories-of-rooms.ts'
import { STORIES_OF_RUNS } from './stories-of-runs.ts'
import { STORIES_OF_SETTINGS } from './stories-of-settings.ts'
import { STORIES_OF_UPKEEP } from './stories-of-upkeep.ts'
import { STORIES_OF_WORKLOADS } from './stories-of-workloads.ts'
import { STORIES_WITH_BUCKETS } from './stories-with-buckets.ts'
import { STORIES_WITH_BUNDLES } from './stories-with-bundles.ts'
import { STORIES_WITH_CERTIFICATES } from './stories-with-certificates.ts'
import { STORIES_WITH_CLOCKS } from './stories-with-clocks.ts'
import { STORIES_WITH_COLLECTORS } from './stories-with-collectors.ts'
import { STORIES_WITH_DATABASES } from './stories-with-databases.ts'
import { STORIES_WITH_EXTERNAL_SECRETS } from './stories-with-external-secrets.ts'
import { STORIES_WITH_GITOPS } from './stories-with-gitops.ts'
import { STORIES_WITH_JOB_SETS } from './stories-with-job-sets.ts'
import { STORIES_WITH_KNATIVE } from './stories-with-knative.ts'
import { STORIES_WITH_LEADERS } from './stories-with-leaders.ts'
import { STORIES_WITH_NODES } from './stories-with-nodes.ts'
import { STORIES_WITH_MONITORS } from './stories-with-monitors.ts'
import { STORIES_WITH_PLAIN_CONTROLLERS } from './stories-with-plain-controllers.ts'
import { STORIES_WITH_PROGRAMS } from './stories-with-programs.ts'
import { STORIES_WITH_QUEUES } from './stories-with-queues.ts'
import { STORIES_WITH_SEALED_SECRETS } from './stories-with-sealed-secrets.ts'
import { STORIES_WITH_SHOPS } from './stories-with-shops.ts'
import { STORIES } from './stories.ts'
import { Scene, USERS, type Story } from './story.ts'

const USAGE = `node bin/node.js lab/evaluation/truth/play-stories.ts --out <folder> [options]
  --out <folder>  where watch.jsonl.gz, audit.jsonl.gz and truth.jsonl go
  --only <story>  may be given again; all of them unless given
  --crds <folder>      YAML files of resources that are defined first; lines of Helm templates are left out
  --controller <file>  a program that runs beside the stories, and may do all as an account; finds the cluster by KUBECONFIG;
                       may be given again. The account has the program's name.
                       With it --only says which stories: of cert-manager (c1 to c5), of the Prometheus operator (p1 to p3);
                       of Flux's source-controller and kustomize-controller (i1 to i4);
                       of Knative Serving's controller and autoscaler-hpa (h1, h2), of kueue (m1, m2), of sealed-secrets (l1, l2), of the descheduler (z1);
                       of the controller and the definition in lab/evaluation/truth/buckets (d1 to d5), of the controllers in lab/evaluation/truth/plain (g2 to g5),
                       of the controllers and the definitions in lab/evaluation/truth/shops (q2, q3),
                       of the programs and the definitions in lab/evaluation/truth/programs (ea to ej),
                       of the programs and the definitions in lab/evaluation/truth/clocks (fa to ff),
                       of external-secrets (k2 to k4), of trust-manager with controllers as its trust namespace (k5),
                       of the JobSet controller without its webhooks (n2, n3), of the LeaderWorkerSet controller with its webhooks (v2 to v4),
                       of the OpenTelemetry operator without its webhooks (xa to xc), of Zalando's postgres-operator without access to databases,
                       which looks again every 20 s and has lab/evaluation/truth/programs/patroni.ts as its HTTP proxy (wa to wc)
  --then <file>   a program to run when the stories are over, before the recording ends; finds the cluster by KUBECONFIG`

const KUBECTL = 'kubectl/v1.36.3 (linux/amd64) kubernetes/0000000'
const DEPLOYBOT = 'deploybot/1.0'
/** So that one step is under way while the next is taken, as on a machine with kubelets. */
const KUBELET_DELAY_MS = [900, 3_100] as const

const USUAL: readonly Story[] = [
  ...STORIES_WITH_NODES,
  ...STORIES,
  ...STORIES_OF_EVICTIONS,
  ...STORIES_OF_WORKLOADS,
  ...STORIES_OF_SETTINGS,
  ...STORIES_OF_UPKEEP,
  ...STORIES_OF_HANDOVERS,
  ...STORIES_OF_CONTESTS,
  ...STORIES_OF_ABSENCES,
  ...STORIES_OF_EDITS,
  ...STORIES_OF_PARTS,
  ...STORIES_OF_ROOMS,
  ...STORIES_OF_NEIGHBOURS,
  ...STORIES_OF_RUNS,
]
const ALL: readonly Story[] = [
  ...USUAL,
  ...STORIES_WITH_BUCKETS,
  ...STORIES_WITH_CERTIFICATES,
  ...STORIES_WITH_MONITORS,
  ...STORIES_WITH_GITOPS,
  ...STORIES_WITH_KNATIVE,
  ...STORIES_WITH_QUEUES,
  ...STORIES_WITH_SEALED_SECRETS,
  ...STORIES_WITH_DESCHEDULER,
  ...STORIES_WITH_PLAIN_CONTROLLERS,
  ...STORIES_WITH_EXTERNAL_SECRETS,
  ...STORIES_WITH_BUNDLES,
  ...STORIES_WITH_SHOPS,
  ...STORIES_WITH_PROGRAMS,
  ...STORIES_WITH_JOB_SETS,
  ...STORIES_WITH_LEADERS,
  ...STORIES_WITH_DATABASES,
  ...STORIES_WITH_COLLECTORS,
  ...STORIES_WITH_CLOCKS,
]
/** A new definition is served some seconds before its watches are. */
const AFTER_DEFINITIONS_MS = 10_000
const LONGEST_DEFINING_MS = 60_000

interface Options {
  readonly out: string
  readonly stories: readonly Story[]
  readonly crds: string | undefined
  readonly controllers: readonly string[]
  readonly then: string | undefined
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      out: { type: 'string' },
      only: { type: 'string', multiple: true },
      crds: { type: 'string' },
      controller: { type: 'string', multiple: true },
      then: { type: 'string' },
    },
  })
  const { out, only, crds, controller: controllers = [], then } = values
  if (out === undefined) throw new Error('--out is missing: write where the recording goes')
  const names = ALL.map(({ name }) => name)
  const usual = controllers.length === 0 ? USUAL : []
  const chosen = new Set(only?.map((name) => oneOf('--only', names, name)) ?? usual.map(({ name }) => name))
  return { out, stories: ALL.filter(({ name }) => chosen.has(name)), crds, controllers, then }
}

interface Definition {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly names: { readonly plural: string }
    readonly versions: readonly { readonly name: string }[]
  }
}

/** Defines the resources of a folder of YAML, and waits until they can be watched. */
async function define(api: KubeApi, folder: string): Promise<void> {
  const defined: Definition[] = []
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  for (const name of files) {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    const text = lines.filter((line) => !line.includes('{{')).join('\n')
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as Definition | null
      if (object === null) continue
      defined.push(object)
      await api.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', object)
    }
  }
  await pause(AFTER_DEFINITIONS_MS)
  for (const { spec } of defined)
    for (const { name } of spec.versions) {
      const path = `/apis/${spec.group}/${name}/${spec.names.plural}?limit=1`
      await eventually(() => api.get(path), LONGEST_DEFINING_MS)
    }
}

const CONTROLLERS = 'controllers'

/** Runs a program as an account that may do all. */
async function run(program: string, cluster: Cluster): Promise<ChildProcess> {
  const [namespace, name] = [CONTROLLERS, parse(program).name]
  const group = 'rbac.authorization.k8s.io'
  const api = cluster.api()
  await api.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  await api.create(`/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  })
  const { kubeconfig } = await cluster.account(namespace, name)
  const [command, ...args] = program.endsWith('.ts') ? [process.execPath, program] : [program]
  return spawn(command, args, { env: { ...process.env, KUBECONFIG: kubeconfig }, stdio: 'ignore' })
}

async function record({ out, stories, crds, controllers, then }: Options): Promise<void> {
  mkdirSync(out, { recursive: true })
  const truth = join(out, 'truth.jsonl')
  rmSync(truth, { force: true })
  using directory = freshDirectory(tmpdir())
  await using cluster = await Cluster.start(join(directory.path, 'cluster'), {
    users: Object.fromEntries(USERS.map((user) => [user, []])),
    auditLevel: 'RequestResponse',
    kubeletDelayMs: KUBELET_DELAY_MS,
  })
  const apiOf = (user: string, program: string) => cluster.api(user, new Agent({ keepAlive: true }), program)
  const apis = {
    admin: apiOf('admin', KUBECTL),
    alice: apiOf('alice', KUBECTL),
    bob: apiOf('bob', KUBECTL),
    carol: apiOf('carol', DEPLOYBOT),
  }
  if (crds !== undefined) await define(apis.admin, crds)
  const recorder = await Recorder.start(apis.admin, join(out, 'watch.jsonl.gz'))
  if (controllers.length > 0)
    await apis.admin.create('/api/v1/namespaces', { metadata: { name: CONTROLLERS } })
  const running: ChildProcess[] = []
  for (const controller of controllers) running.push(await run(controller, cluster))
  const play = async ({ name, play }: Story): Promise<void> => {
    const scene = new Scene(name, apis, recorder, truth, cluster)
    await scene.begin()
    try {
      await play(scene)
    } catch (error) {
      // The cluster goes now, and what its watches say of that would come first.
      console.error(`${name} failed`, error)
      throw error
    }
    console.log(`${name}${scene.refused === 0 ? '' : `: ${scene.refused} steps were refused`}`)
  }
  const isAlone = ({ hasNodes, stopsPrograms }: Story): boolean => hasNodes === true || stopsPrograms === true
  for (const story of stories) if (isAlone(story)) await play(story)
  await Promise.all(stories.filter((story) => !isAlone(story)).map(play))
  if (then !== undefined) {
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig() }
    await once(spawn(then, { env, stdio: 'inherit' }), 'exit')
  }
  for (const one of running) one.kill()
  await recorder[Symbol.asyncDispose]()
  for (const step of stepsOfClocks(cluster.auditLog)) appendFileSync(truth, `${JSON.stringify(step)}\n`)
  await pipeline(
    createReadStream(cluster.auditLog),
    createGzip(),
    createWriteStream(join(out, 'audit.jsonl.gz')),
  )
  console.log(`${recorder.versions} versions`)
}

const options = optionsGiven(USAGE, readOptions)
if (options !== undefined) await record(options)
