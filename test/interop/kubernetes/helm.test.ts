import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from '@jest/globals'
import { FINISHES } from '../../../lab/harness/kubernetes/kwok-stages.ts'
import { installPeers } from '../../../lab/peers/install-peers.ts'
import { sceneTest, type Scene } from '../support/scene.ts'
import { deployment } from './support/manifests.ts'
import { Stage } from './support/stage.ts'
import { cascadesIn, preparedCommands } from './support/told-commands.ts'

const SERVICE = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
}

/** A Job that helm waits for, before it goes on with an upgrade. */
function hook(mayRun: boolean): object {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'migrate',
      annotations: { 'helm.sh/hook': 'pre-upgrade', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
    },
    spec: {
      backoffLimit: 0,
      ...(!mayRun && { activeDeadlineSeconds: 1 }),
      template: {
        metadata: { annotations: { [FINISHES]: 'yes' } },
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'main', image: 'migrate:1' }],
          ...(!mayRun && { nodeSelector: { 'no-such': 'node' } }),
        },
      },
    },
  }
}

async function writeChart(scene: Scene, replicas: number, mayRun = true): Promise<string> {
  const folder = join(scene.directory, 'chart')
  await mkdir(join(folder, 'templates'), { recursive: true })
  await writeFile(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: web\nversion: 1.0.0\n')
  const objects = { deployment: deployment('web', replicas), service: SERVICE, hook: hook(mayRun) }
  for (const [name, object] of Object.entries(objects))
    await writeFile(join(folder, 'templates', `${name}.yaml`), JSON.stringify(object))
  return folder
}

sceneTest('what helm does is one change, down to the Pods, and its hooks too', async (scene) => {
  const [{ causeway, kubectl }, { helm }] = await Promise.all([
    preparedCommands(scene),
    installPeers(['helm']),
  ])
  const stage = new Stage('shop', kubectl.cluster, scene.directory)
  const settings = {
    PATH: [dirname(helm), process.env['PATH'] ?? ''].join(':'),
    HELM_CACHE_HOME: join(scene.directory, 'helm-cache'),
    HELM_CONFIG_HOME: join(scene.directory, 'helm-config'),
    HELM_DATA_HOME: join(scene.directory, 'helm-data'),
  }
  const run = (reason: string, ...args: string[]): ReturnType<typeof kubectl.runAs> =>
    kubectl.runAs('run', reason, settings, 'helm', ...args, '-n', 'shop')
  const done = async (reason: string, ...args: string[]): Promise<void> => {
    const { code, printed, errors } = await run(reason, ...args)
    expect({ code, printed, errors }).toEqual({
      code: 0,
      printed,
      errors: expect.not.stringMatching(/causeway:|Error/),
    })
  }
  const rolledOut = async (replicas: number): Promise<void> => {
    await stage.rolledOut('web', replicas)
    await stage.endpointsAre('web', replicas)
  }

  await done('installed', 'install', 'web', await writeChart(scene, 2))
  await rolledOut(2)
  await done('upgraded', 'upgrade', 'web', await writeChart(scene, 3), '--timeout', '90s')
  await rolledOut(3)
  const failed = await run('failed', 'upgrade', 'web', await writeChart(scene, 5, false), '--timeout', '90s')
  expect(failed).toMatchObject({ code: 1, errors: expect.stringContaining('UPGRADE FAILED') })
  await done('rolled back', 'rollback', 'web', '1')
  await rolledOut(2)
  // The token that it is given counts, and not the kubeconfig's.
  const asNobody = await run('as nobody', 'uninstall', 'web', '--kube-token', 'of nobody')
  expect(asNobody).toMatchObject({ code: 1, errors: expect.stringContaining('provide credentials') })
  await done('uninstalled', 'uninstall', 'web')

  const workload = ['deployments', 'endpoints', 'endpointslices', 'pods', 'replicasets', 'secrets']
  await scene.eventually(() => {
    // What nobody told of a Job that ran out of time is not looked at: a watch does not tell who deletes its Pod.
    const told = Object.entries(cascadesIn(causeway)).filter(([reason]) => !reason.endsWith('by unknown'))
    expect(Object.fromEntries(told)).toEqual({
      installed: [...workload, 'services'].sort(),
      upgraded: [...workload, 'jobs'].sort(),
      failed: ['jobs', 'pods', 'secrets'],
      'rolled back': workload,
      uninstalled: [...workload, 'services'].sort(),
    })
  }, 90_000)
  const told = causeway.stored<{ name: string; service: string }>(
    "SELECT DISTINCT name, service FROM audit_cascade_spans WHERE service = 'helm' ORDER BY name",
  )
  expect(told.map(({ name }) => name)).toEqual([
    'helm install',
    'helm rollback',
    'helm uninstall',
    'helm upgrade',
  ])
  expect((await readdir(scene.directory)).filter((name) => name.startsWith('causeway-kubectl-'))).toEqual([])
})
