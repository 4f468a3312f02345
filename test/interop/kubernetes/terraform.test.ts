import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from '@jest/globals'
import { sceneTest } from '../support/scene.ts'
import { Stage } from './support/stage.ts'
import { cascadesIn, preparedCommands } from './support/told-commands.ts'

const NAMED = { name: 'web', namespace: 'shop' }

/** Of a Deployment, a Service, a ConfigMap, a Secret, and a ConfigMap that the server applies, in the JSON form of the language. */
function configuration(replicas: number, greeting: string): object {
  const labels = { app: 'web' }
  return {
    terraform: { required_providers: { kubernetes: { source: 'hashicorp/kubernetes' } } },
    provider: { kubernetes: {} },
    resource: {
      kubernetes_deployment_v1: {
        web: {
          metadata: NAMED,
          spec: {
            replicas,
            selector: { match_labels: labels },
            template: { metadata: { labels }, spec: { container: { name: 'main', image: 'nginx:1' } } },
          },
        },
      },
      kubernetes_service_v1: { web: { metadata: NAMED, spec: { selector: labels, port: { port: 80 } } } },
      kubernetes_config_map_v1: { web: { metadata: NAMED, data: { greeting } } },
      kubernetes_secret_v1: { web: { metadata: NAMED, data: { greeting } } },
      kubernetes_manifest: {
        web: {
          manifest: {
            ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { greeting } },
            metadata: { ...NAMED, name: 'applied', annotations: { team: 'shop' } },
          },
        },
      },
    },
  }
}

sceneTest('what Terraform applies is one change, and what it plans next is nothing', async (scene) => {
  const { CAUSEWAY_TERRAFORM: terraform = '', CAUSEWAY_TERRAFORM_PROVIDER: provider = '' } = process.env
  const { causeway, kubectl } = await preparedCommands(scene)
  const stage = new Stage('shop', kubectl.cluster, scene.directory)
  const folder = join(scene.directory, 'terraform')
  const settings = join(scene.directory, 'terraform.rc')
  await mkdir(folder)
  await writeFile(
    settings,
    `provider_installation {
  dev_overrides { "hashicorp/kubernetes" = ${JSON.stringify(dirname(provider))} }
}`,
  )
  const run = async (reason: string, ...args: string[]): Promise<void> => {
    const env = { TF_CLI_CONFIG_FILE: settings, CHECKPOINT_DISABLE: '1', KUBE_CONFIG_PATH: '', KUBE_CTX: '' }
    const ran = await kubectl.runAs('run', reason, env, terraform, `-chdir=${folder}`, ...args)
    expect(ran).toEqual({
      code: 0,
      printed: ran.printed,
      errors: expect.not.stringMatching(/causeway:|Error/),
    })
  }
  const apply = async (reason: string, replicas: number): Promise<void> => {
    await writeFile(join(folder, 'main.tf.json'), JSON.stringify(configuration(replicas, reason)))
    await run(reason, 'apply', '-auto-approve')
    await stage.rolledOut('web', replicas)
    await stage.endpointsAre('web', replicas)
    // 2 is the exit code of a plan that has something to do.
    await run(`planned after ${reason}`, 'plan', '-detailed-exitcode')
  }

  await apply('applied', 2)
  await apply('changed', 3)
  await run('destroyed', 'destroy', '-auto-approve')

  const rollout = ['deployments', 'endpoints', 'endpointslices', 'pods', 'replicasets']
  const all = [...rollout, 'configmaps', 'secrets', 'services'].sort()
  await scene.eventually(() => {
    expect(cascadesIn(causeway)).toEqual({
      applied: all,
      changed: all.filter((resource) => resource !== 'services'),
      destroyed: all,
    })
  }, 90_000)
})
