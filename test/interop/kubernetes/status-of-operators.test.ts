import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import type { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import type { Causeway } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { auditedAndWatched } from './support/audited-and-watched.ts'
import { type Kept, OperatorStage, WEB_APPS, webApp } from './support/operator-stage.ts'

const LONGEST_MS = 120_000
const AUDIT_POLICY = new URL('../../../examples/kubernetes/audit-policy.yaml', import.meta.url)
const REPLICAS = 2

interface Status {
  version: number
  cause: string
  /** Who began the changes whose work it is. */
  by: string
}

interface Pods {
  items: { metadata: { name: string }; spec: { nodeName: string } }[]
}

/** What was written of a WebApp after one version of it and up to another, oldest first. */
function writtenOf(causeway: Causeway, name: string, after: string, upTo: string): Status[] {
  return causeway.stored<Status>(
    `SELECT e.object_version AS version, e.cause, group_concat(DISTINCT c.actor) AS by
     FROM audit_object_events e
     LEFT JOIN audit_cascade_spans s ON s.span_id = e.span_id AND s.activity = 'yes' AND s.copy = 'no'
     LEFT JOIN audit_cascades c ON c.root = s.root
     WHERE e.action = 'wrote' AND e.object = 'example.com/v1/webapps/default/${name}'
       AND e.object_version > ${after} AND e.object_version <= ${upTo}
     GROUP BY e.object_version ORDER BY e.object_version`,
  )
}

sceneTest(
  'a status that a plain operator writes follows from what happened to Pods, and what an instrumented one writes is not called exact',
  async (scene) => {
    const stage = await OperatorStage.set(scene, '', {
      users: { alice: [], bob: [], carol: [] },
      auditPolicy: await readFile(AUDIT_POLICY, 'utf8'),
      // Each status says for a while that a Pod is missing.
      kubeletDelayMs: [700, 1_200],
    })
    const { cluster, api, folder } = stage
    // It runs the operators.
    const { causeway } = await auditedAndWatched(scene, cluster, ['kwok', 'admin'])
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}` }
    const instrumented = await readFile(join(folder, 'web-app-instrumented.ts'), 'utf8')
    const [plain, telling] = [
      'traceCluster(plainConfig)',
      'traceCluster(plainConfig, { tellsStatusWrites: true })',
    ]
    expect(instrumented).toContain(plain)
    await writeFile(join(folder, 'telling-instrumented.ts'), instrumented.replace(plain, telling))
    await copyFile(join(folder, 'web-app-plain.ts'), join(folder, 'plain-instrumented.ts'))
    const operators: Readonly<Record<string, () => RunningProgram | Promise<RunningProgram>>> = {
      plain: () => stage.start('plain', env),
      typescript: () => stage.start('web-app', env),
      telling: () => stage.start('telling', env),
      go: () => stage.startGo('webapp', env),
    }
    const versions = new Map<string, { made: string; killed: string; drained: string }>()
    for (const [name, start] of Object.entries(operators)) {
      const pods = async (): Promise<Pods['items']> =>
        (await api.get<Pods>(`/api/v1/namespaces/default/pods?labelSelector=app%3D${name}`)).items
      /** Its newest version, once it and its Deployment have all their Pods again. */
      const ready = (before?: string): Promise<string> =>
        scene.eventually(async () => {
          const { metadata, status } = await api.get<Kept>(`${WEB_APPS}/${name}`)
          const deployment = await api.get<Kept>(`/apis/apps/v1/namespaces/default/deployments/${name}`)
          expect([status?.readyReplicas, deployment.status?.readyReplicas]).toEqual([REPLICAS, REPLICAS])
          expect(await pods()).toHaveLength(REPLICAS)
          expect(metadata.resourceVersion).not.toBe(before)
          return metadata.resourceVersion
        }, LONGEST_MS)
      const operator = await start()
      await stage.apply('alice', { ...webApp(REPLICAS), metadata: { name } })
      const made = await ready()
      const [pod] = await pods()
      await cluster.kubectl('bob', 'delete', 'pod', pod?.metadata.name ?? '')
      const killed = await ready(made)
      const [moved] = await pods()
      const node = moved?.spec.nodeName ?? ''
      // Pods of others on it stay: their operator is gone.
      await cluster.kubectl('carol', 'drain', node, '--pod-selector', `app=${name}`)
      const drained = await ready(killed)
      await cluster.kubectl('carol', 'uncordon', node)
      await operator.stop(LONGEST_MS)
      versions.set(name, { made, killed, drained })
    }
    await scene.eventually(() => {
      for (const [name, { made, killed, drained }] of versions) {
        const [afterKill, afterDrain] = [
          writtenOf(causeway, name, made, killed),
          writtenOf(causeway, name, killed, drained),
        ]
        for (const some of [afterKill, afterDrain]) {
          expect(some.length).toBeGreaterThan(0)
          expect(some.map(({ cause }) => cause)).toEqual(some.map(() => 'inferred'))
        }
        if (name !== 'plain') continue
        expect(new Set(afterKill.map(({ by }) => by))).toEqual(new Set(['bob']))
        expect(new Set(afterDrain.map(({ by }) => by))).toEqual(new Set(['carol']))
      }
    }, LONGEST_MS)
  },
)
