import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { freeJaegerPorts, startJaeger } from '../peers/start-jaeger.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { operatorFolder } from '../../../lab/harness/kubernetes/operator-folder.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { untilDelivered } from '../support/until-delivered.ts'

const JAEGER = 'otlp_grpc/jaeger'
const FLEET = '/apis/example.com/v1/featureconfigs/fleet'
const LONGEST_MS = 120_000
/** The host is a member too. */
const CLUSTERS = ['host', 'west']

interface State {
  generation: number
  phase: string
  applied: string[]
  message?: string
}

interface Fleet {
  metadata: { generation: number }
  status?: { members?: Record<string, State> }
}

interface Step {
  id: string
  parent: string
  cluster: string
  service: string
  name: string
  cpid: string
  wrote: string | null
}

/** A kubeconfig with a context for each cluster, under its name. */
async function kubeconfigOf(directory: string, clusters: Readonly<Record<string, Cluster>>): Promise<string> {
  const files = Object.entries(clusters).map(async ([name, cluster]) => {
    const text = await readFile(cluster.kubeconfig(), 'utf8')
    const one = JSON.parse(text) as { clusters: object[]; users: object[] }
    const path = join(directory, `${name}.kubeconfig`)
    const named = {
      ...one,
      'current-context': name,
      clusters: [{ ...one.clusters[0], name }],
      users: [{ ...one.users[0], name }],
      contexts: [{ name, context: { cluster: name, user: name } }],
    }
    await writeFile(path, JSON.stringify(named))
    return path
  })
  return (await Promise.all(files)).join(delimiter)
}

/** Two clusters with all the programs of the sample, which send to Causeway, and Jaeger behind that. */
async function stage(scene: Scene) {
  const ports = await freeJaegerPorts()
  const [host, west, folder, jaeger] = await Promise.all([
    ...CLUSTERS.map((name) => Cluster.start(join(scene.directory, name), { nodes: 0 })),
    operatorFolder(scene.directory, 'federation'),
    startJaeger(scene, ports),
  ] as [Promise<Cluster>, Promise<Cluster>, Promise<string>, ReturnType<typeof startJaeger>])
  for (const cluster of [host, west]) {
    scene.use(cluster)
    await cluster.kubectl('admin', 'apply', '--filename', join(folder, 'custom-resources.yaml'))
    for (const resource of ['featureconfigs', 'featurerollouts'])
      await scene.eventually(() => cluster.api().get(`/apis/example.com/v1/${resource}`))
  }
  const exporters = { [JAEGER]: grpcExporter(`127.0.0.1:${ports.otlpGrpc}`) }
  const causeway = await Causeway.start(scene, { exporters })
  const env = {
    ...process.env,
    KUBECONFIG: await kubeconfigOf(scene.directory, { host, west }),
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}`,
    OTEL_METRICS_EXPORTER: 'none',
  }
  const start = (file: string, ...args: string[]) =>
    scene.use(
      new RunningProgram({
        name: [file, ...args].join(' '),
        command: process.execPath,
        args: ['--no-warnings', join(folder, file), ...args],
        directory: folder,
        env,
      }),
    )
  for (const member of CLUSTERS) {
    start('node-agent.ts', member, 'node-1')
    start('reconfigurator.ts', member)
  }
  start('federation-controller.ts', 'host', ...CLUSTERS)
  const api = host.api()
  /** Waits until every member says so of what was last asked for. */
  const untilMembersSay = (phase: string) =>
    scene.eventually(async () => {
      const { metadata, status } = await api.get<Fleet>(FLEET)
      const members = status?.members ?? {}
      expect(Object.keys(members).sort()).toEqual(CLUSTERS)
      for (const state of Object.values(members))
        expect(state).toMatchObject({ generation: metadata.generation, phase })
      return members
    }, LONGEST_MS)
  return { host, west, folder, causeway, jaeger, untilMembersSay }
}

const cascadesOf = (causeway: Causeway) =>
  causeway.stored<{ root: string; cluster: string; trace: string }>(
    `SELECT root, cluster, trace_id AS trace FROM audit_cascades
     WHERE object LIKE 'example.com/v1/featureconfigs/fleet%' ORDER BY start`,
  )

/** What a change drove, in the order in which it began. */
const stepsOf = (causeway: Causeway, root: string) =>
  causeway.stored<Step>(
    `SELECT s.span_id AS id, s.parent_span_id AS parent, s.cluster, s.service, s.name, s.cpid,
       (SELECT object FROM audit_object_events o WHERE o.span_id = s.span_id AND action = 'wrote') AS wrote
     FROM audit_cascade_spans s WHERE s.root = '${root}' AND s.copy = 'no' AND s.activity = 'yes' ORDER BY s.start, s.end DESC`,
  )

/** What a service wrote in a cluster, one after the other, without what it says of how far it is. */
const writes = (steps: readonly Step[], cluster: string, service: string) =>
  steps
    .filter((step) => step.cluster === cluster && step.service === service && step.wrote !== null)
    .filter(({ name }) => !name.endsWith('/status'))
    .map(({ name, wrote }) => `${name.split(' ', 1).join()} ${String(wrote).replace(/^.*\//, '')}`)

/** Below what of the same cluster its work hangs, in the order in which it began. */
function causesIn(steps: readonly Step[], member: string): string[] {
  const here = new Map(steps.filter(({ cluster }) => cluster === member).map((step) => [step.id, step]))
  return [...here.values()]
    .filter(({ name }) => name === 'restart' || name === 'reconfigure')
    .map(({ parent }) => here.get(parent))
    .map((parent) => `${parent?.service} ${parent?.wrote?.replace(/^.*\//, '')}`)
}

/** The question of the README. */
async function timesOf(causeway: Causeway, folder: string) {
  const text = await readFile(join(folder, 'README.md'), 'utf8')
  const [, query = ''] = /```sql\n(.*?)```/s.exec(text) ?? []
  return causeway.stored<{ cluster: string; service: string; took_ms: number; span_ms: number }>(query)
}

sceneTest(
  'a change on the host is one cascade over all members, also of what they roll back, and each step says in which cluster it is',
  async (scene) => {
    const { host, west, folder, causeway, jaeger, untilMembersSay } = await stage(scene)
    const gatesOf = async (cluster: Cluster) => {
      const path = '/api/v1/namespaces/kube-system/configmaps/feature-gates'
      return (await cluster.api().get<{ data: object }>(path)).data
    }
    const file = join(folder, 'feature-config.yaml')
    await host.kubectl('admin', 'apply', '--filename', file)
    const members = await untilMembersSay('Applied')
    for (const cluster of [host, west])
      expect(await gatesOf(cluster)).toEqual({ InPlacePodVerticalScaling: 'true' })
    await untilDelivered(scene, causeway, JAEGER, { settled: 1, unattributed: 0 })

    const [cascade, ...others] = cascadesOf(causeway)
    expect(others).toEqual([])
    expect(cascade?.cluster).toBe('host')
    const { root = '', trace = '' } = cascade ?? {}
    const steps = stepsOf(causeway, root)
    expect(new Set(steps.map(({ cpid }) => cpid))).toEqual(new Set([root]))
    for (const member of CLUSTERS) {
      expect(members[member]?.applied).toEqual(['quotas-by-class', 'resize-in-place'])
      // That somebody wrote the FeatureConfig the controller told.
      const begun = member === 'host' ? ['write fleet'] : []
      expect(writes(steps, member, 'federation-controller')).toEqual([...begun, 'create fleet'])
      expect(writes(steps, member, 'reconfigurator')).toEqual([
        'create admission-plugins',
        'create feature-gates',
      ])
      expect(writes(steps, member, 'node-agent')).toEqual(['create report-node-1', 'update report-node-1'])
      expect(causesIn(steps, member)).toEqual([
        'federation-controller fleet',
        'reconfigurator admission-plugins',
        'node-agent report-node-1',
        'reconfigurator feature-gates',
        'node-agent report-node-1',
      ])
    }
    const times = await timesOf(causeway, folder)
    expect(times.map(({ cluster, service }) => `${cluster} ${service}`)).toEqual([
      'host federation-controller',
      'host node-agent',
      'host reconfigurator',
      'west federation-controller',
      'west node-agent',
      'west reconfigurator',
    ])
    expect(times.every(({ took_ms, span_ms }) => took_ms > 0 && span_ms > 0)).toBe(true)

    const answer = await fetch(`http://${causeway.query}/api/v1/cascades/${root}`)
    const told = (await answer.json()) as { timePerCluster: { cluster: string; service: string }[] }
    expect(told.timePerCluster.map(({ cluster, service }) => `${cluster} ${service}`).sort()).toEqual(
      times.map(({ cluster, service }) => `${cluster} ${service}`),
    )

    const { spans, processes } = await jaeger.legacyTrace(trace)
    const clusterOf = new Map(
      spans.map(({ spanID, processID }) => [
        spanID,
        processes[processID]?.tags.find(({ key }) => key === 'k8s.cluster.name')?.value,
      ]),
    )
    expect(steps.map(({ id }) => clusterOf.get(id))).toEqual(steps.map(({ cluster }) => cluster))

    // Nodes do not come up with this: what was before is there again, of the same change.
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace("'true' }", "'true', NoSuchGate: 'true' }"))
    await host.kubectl('admin', 'apply', '--filename', file)
    const undone = await untilMembersSay('RolledBack')
    for (const cluster of [host, west])
      expect(await gatesOf(cluster)).toEqual({ InPlacePodVerticalScaling: 'true' })
    await untilDelivered(scene, causeway, JAEGER, { settled: 2, unattributed: 0 })

    const [, second, ...third] = cascadesOf(causeway)
    expect(third).toEqual([])
    const stepsBack = stepsOf(causeway, second?.root ?? '')
    for (const member of CLUSTERS) {
      expect(undone[member]).toMatchObject({
        applied: ['quotas-by-class'],
        message: 'resize-in-place: feature-gates: nothing is called NoSuchGate',
      })
      expect(writes(stepsBack, member, 'reconfigurator')).toEqual([
        'update feature-gates',
        'update feature-gates',
      ])
      expect(causesIn(stepsBack, member)).toEqual([
        'federation-controller fleet',
        'reconfigurator feature-gates',
        'node-agent report-node-1',
        'reconfigurator feature-gates',
      ])
    }
    expect(stepsOf(causeway, root)).toEqual(steps)
  },
)

sceneTest('the sample type-checks with the newest client and the packed library', async (scene) => {
  const folder = await operatorFolder(scene.directory, 'federation')
  const args = [join(folder, 'node_modules/typescript/bin/tsc'), '--project', folder]
  await promisify(execFile)(process.execPath, args, { cwd: folder })
})
