import { join } from 'node:path'
import { expect } from '@jest/globals'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { sceneTest } from '../support/scene.ts'

sceneTest('causeway observe prints the cascade of a Deployment, and ends with Ctrl-C', async (scene) => {
  const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster')))
  const [port = 0] = await freePorts(1)
  const observe = scene.start({
    name: 'causeway observe',
    command: process.execPath,
    args: [
      ...[BIN, 'observe', '--kubeconfig', cluster.kubeconfig()],
      ...['--set', `extensions.cpid_query.endpoint=localhost:${port}`],
      ...['--set', 'connectors.cpid.linking.settle_after=15s'],
      ...['--set', 'connectors.cpid.inference.window=3s'],
    ],
  })
  await scene.eventually(() =>
    expect(observe.printed).toMatch(/^Watching \d\d resources\. .*; the dashboard is at http:/m),
  )
  expect(observe.printed).toMatch(/k8s_objects may list and watch all \d\d resources/)
  await cluster.kubectl('admin', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  const line = await scene.eventually(() => {
    const found = observe.printed
      .split('\n')
      .slice(0, -1)
      .find((text) => text.startsWith('apps/v1/deployments/default/web'))
    if (found === undefined) throw new Error('nothing settled')
    return found
  }, 90_000)
  for (const service of ['deployment-controller', 'replicaset-controller', 'kube-scheduler'])
    expect(line).toContain(service)
  expect(line).toMatch(new RegExp(`in [0-9.]+m?s {2}http://localhost:${port}/cascades/[0-9a-f-]{36}$`))
  const { status } = await fetch(line.split('  ')[1]?.replace('/cascades/', '/api/v1/cascades/') ?? '')
  expect(status).toBe(200)
  expect(await observe.end('SIGINT')).toEqual({ code: 0, signal: null })
  expect(observe.errors).toBe('')
})
