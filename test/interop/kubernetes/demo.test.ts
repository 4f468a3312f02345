import { expect } from '@jest/globals'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { sceneTest } from '../support/scene.ts'

const DEMO = fileURLToPath(new URL('../../../lab/demo/kubernetes-demo.ts', import.meta.url))

sceneTest('the demo of a real Kubernetes shows what came of a rollout, and ends', async (scene) => {
  const args = [DEMO, '--dashboard', `localhost:${await freePort()}`, '--settle-after', '20s']
  const printed = await scene.start({ name: 'demo', command: process.execPath, args }).output()
  expect(printed).toContain('patch apps/v1/deployments')
  for (const service of [
    'deployment-controller',
    'replicaset-controller',
    'kube-scheduler',
    'endpointslice-controller',
  ])
    expect(printed).toContain(service)
})
