import { join, delimiter, dirname } from 'node:path'
import { expect } from '@jest/globals'
import { BIN } from '../../../../lab/harness/causeway/causeway-process.ts'
import { Cluster } from '../../../../lab/harness/kubernetes/cluster.ts'
import { RunningProgram } from '../../../../lab/harness/processes/running-program.ts'
import { TraceBackend } from '../../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../../support/causeway.ts'
import type { Scene } from '../../support/scene.ts'
import { untilListed } from './until-listed.ts'

interface Cascade {
  root: string
  reason: string
  wrote: string
}

interface Ran {
  code: number | null
  printed: string
  errors: string
}

/** Commands whose writes are one change, beside a Causeway that watches the same cluster. */
class ToldCommands {
  readonly cluster: Cluster
  readonly #directory: string
  readonly #endpoint: string

  constructor(cluster: Cluster, directory: string, endpoint: string) {
    this.cluster = cluster
    this.#directory = directory
    this.#endpoint = endpoint
  }

  /** `causeway kubectl` as alice. */
  async run(reason: string, settings: NodeJS.ProcessEnv, ...args: string[]): Promise<Ran> {
    return await this.runAs('kubectl', reason, settings, '-n', 'shop', ...args)
  }

  /** `causeway kubectl`, or `causeway run`, as alice. */
  async runAs(
    command: 'kubectl' | 'run',
    reason: string,
    settings: NodeJS.ProcessEnv,
    ...args: string[]
  ): Promise<Ran> {
    const env = {
      ...process.env,
      ...settings,
      PATH: [dirname(this.cluster.program('kubectl')), settings['PATH'] ?? process.env['PATH'] ?? ''].join(
        delimiter,
      ),
      KUBECONFIG: this.cluster.kubeconfig('alice'),
      KUBECACHEDIR: join(this.#directory, 'kubectl-cache'),
      TMPDIR: this.#directory,
    }
    await using program = new RunningProgram({
      name: `causeway ${command}`,
      command: process.execPath,
      args: [
        ...[BIN, command, '--endpoint', this.#endpoint, '--cluster', 'test', '--reason', reason],
        ...['--', ...args],
      ],
      env,
    })
    const { code } = await program.ending(120_000)
    return { code, printed: program.printed, errors: program.errors }
  }

  /** What it printed; it worked, and Causeway said nothing of its own. */
  async done(reason: string, settings: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
    const ran = await this.run(reason, settings, ...args)
    expect(ran).toMatchObject({ code: 0, errors: expect.not.stringContaining('causeway:') })
    return ran.printed
  }
}

export async function preparedCommands(scene: Scene): Promise<{ causeway: Causeway; kubectl: ToldCommands }> {
  const cluster = scene.use(
    await Cluster.start(join(scene.directory, 'cluster'), { nodes: 1, users: { alice: ['developers'] } }),
  )
  const backend = scene.use(await TraceBackend.up())
  const causeway = await Causeway.start(scene, {
    exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    set: {
      'receivers.k8s_objects': {
        cluster: 'test',
        auth_type: 'kubeConfig',
        kubeconfig: cluster.kubeconfig('admin'),
      },
      'service.pipelines.traces/in.receivers': ['otlp', 'k8s_objects'],
      'connectors.cpid.inference.controllers': ['kwok'],
      'connectors.cpid.linking.settle_after': '90s',
    },
  })
  await untilListed(scene, causeway)
  await cluster.api().create('/api/v1/namespaces', { metadata: { name: 'shop' } })
  return { causeway, kubectl: new ToldCommands(cluster, scene.directory, `http://${causeway.otlpHttp}`) }
}

/** Roots of changes that people began in the namespace, and what was written in their cascades, each resource once. */
export function cascadesIn(causeway: Causeway): Record<string, string[]> {
  const rows = causeway.stored<Cascade>(
    `SELECT s.root, coalesce(m.reason, '') AS reason, e.object AS wrote
     FROM audit_cascade_spans s
     JOIN audit_object_events e ON e.span_id = s.span_id AND e.action = 'wrote'
     LEFT JOIN audit_mergelogs m ON m.cpid = s.root
     WHERE s.activity = 'yes' AND s.copy = 'no' AND e.object LIKE '%/shop/%'
       AND e.object NOT LIKE '%/serviceaccounts/%' AND e.object NOT LIKE '%kube-root-ca%'
     ORDER BY s.start`,
  )
  const byReason = Map.groupBy(rows, ({ reason }) => reason)
  return Object.fromEntries(
    [...byReason].map(([reason, of]) => {
      expect(new Set(of.map(({ root }) => root)).size).toBe(1)
      return [
        reason,
        [...new Set(of.map(({ wrote }) => wrote.split('/shop/')[0]?.split('/').at(-1) ?? ''))].sort(),
      ]
    }),
  )
}
