import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { RunningProgram } from '../../../lab/harness/processes/running-program.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { Causeway, grpcExporter } from '../support/causeway.ts'
import { sceneTest } from '../support/scene.ts'
import { cascadesOf } from './support/told-cascades.ts'

const CAINJECTOR = fileURLToPath(new URL('../go-operators/cainjector/', import.meta.url))
const LONGEST_MS = 90_000
/** With its compilation. */
const LONGEST_TEST_MS = 1_200_000
const WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
const SECRETS = '/api/v1/namespaces/default/secrets'

interface Webhooks {
  webhooks: { clientConfig: { caBundle?: string } }[]
}

interface Kept {
  metadata: { creationTimestamp: string }
}

const base64 = (text: string): string => Buffer.from(text).toString('base64')

sceneTest(
  "cert-manager's cainjector, wrapped in its main.go alone, tells what it writes and why",
  async (scene) => {
    const backend = scene.use(await TraceBackend.up())
    // Nothing of the cluster is watched: what is known is told.
    const causeway = await Causeway.start(scene, {
      exporters: { 'otlp_grpc/backend': grpcExporter(`127.0.0.1:${backend.port}`) },
    })
    const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster'), { nodes: 1 }))
    const api = cluster.api()
    const program = join(scene.directory, 'cainjector')
    const env = { ...process.env, GOWORK: 'off', CGO_ENABLED: '0' }
    await promisify(execFile)('go', ['build', '-o', program, '.'], { cwd: CAINJECTOR, env })
    const operator = scene.use(
      new RunningProgram({
        name: 'cainjector',
        command: program,
        args: [],
        env: {
          ...process.env,
          KUBECONFIG: cluster.kubeconfig(),
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://${causeway.otlpHttp}`,
          OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=test',
          OTEL_BSP_SCHEDULE_DELAY: '100',
          OTEL_BLRP_SCHEDULE_DELAY: '100',
        },
      }),
    )
    // What is made before it follows its objects, it lists together.
    await scene.eventually(() => expect(operator.errors.match(/Starting workers/g)).toHaveLength(2))
    const injected = (text: string) =>
      scene.eventually(async () => {
        const { webhooks } = await api.get<Webhooks>(`${WEBHOOKS}/guarded`)
        expect(webhooks.map(({ clientConfig }) => clientConfig.caBundle)).toEqual([base64(text)])
      }, LONGEST_MS)
    await api.create(SECRETS, {
      metadata: { name: 'ca', annotations: { 'cert-manager.io/allow-direct-injection': 'true' } },
      data: { 'ca.crt': base64('first') },
    })
    await api.create(WEBHOOKS, {
      metadata: {
        name: 'guarded',
        annotations: { 'cert-manager.io/inject-ca-from-secret': 'default/ca' },
      },
      webhooks: [
        {
          ...{ name: 'guarded.example.com', admissionReviewVersions: ['v1'], sideEffects: 'None' },
          clientConfig: { url: 'https://localhost:1/' },
          rules: [
            {
              operations: ['CREATE'],
              apiGroups: ['guarded.example.com'],
              apiVersions: ['v1'],
              resources: ['*'],
            },
          ],
          failurePolicy: 'Ignore',
        },
      ],
    })
    await injected('first')
    // A cache of metadata alone tells writes apart by managedFields, in whole seconds of the API server's clock.
    const { metadata } = await api.get<Kept>(`${SECRETS}/ca`)
    await scene.eventually(async () => {
      const unsaved = await api.create<Kept>(`${SECRETS}?dryRun=All`, { metadata: { name: 'clock' } })
      const nowMs = Date.parse(unsaved.metadata.creationTimestamp)
      expect(nowMs).toBeGreaterThanOrEqual(Date.parse(metadata.creationTimestamp) + 2_000)
    })
    await api.patch(`${SECRETS}/ca`, { data: { 'ca.crt': base64('second') } })
    await injected('second')
    const hooks = 'admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const acted = (under: string): string[] => [
      `reconcile validatingwebhookconfiguration < ${under}`,
      `apply ${hooks} < reconcile validatingwebhookconfiguration`,
    ]
    await scene.eventually(() => {
      // What it wrote follows from the Secret and from whoever asked for it; the second time from the new Secret too.
      expect(cascadesOf(causeway, 'cainjector')).toEqual(
        [
          ['write v1/secrets < its change', ...acted('its change'), ...acted('write v1/secrets')],
          [`write ${hooks} < its change`, ...acted(`write ${hooks}`), ...acted('its change')],
          ['write v1/secrets < its change', ...acted('write v1/secrets')],
        ].map((of) => of.sort()),
      )
    }, LONGEST_MS)
    expect(operator.errors).not.toContain('not traced')
  },
  LONGEST_TEST_MS,
)
