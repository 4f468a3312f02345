import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import type { ClusterEvent } from '../../../src/model/kubernetes-observations.ts'
import { examineEvents } from '../../../src/receiver/k8s-events/examine-events.ts'
import { startReceiver } from '../../../src/receiver/k8s-events/start-k8s-events.ts'
import { SourceHost } from '../../receiver/support/source-host.ts'
import { sceneTest } from '../support/scene.ts'

sceneTest('Events of a real rollout are told, each with the object that it is about', async (scene) => {
  const host = new SourceHost()
  const cluster = scene.use(
    await Cluster.start(join(scene.directory, 'cluster'), { users: { alice: ['developers'] } }),
  )
  const settings = {
    ...{ cluster: 'test', authType: 'kubeConfig' as const, kubeconfig: cluster.kubeconfig('admin') },
    namespaces: [],
  }
  const examined: unknown[] = []
  for await (const one of examineEvents('k8s_events', settings)) examined.push(one)
  expect(examined).toMatchObject([{ state: 'ok' }])
  const started = {
    id: 'k8s_events',
    type: 'k8s_events',
    settings,
    signals: ['logs' as const],
    listeners: [],
  }
  scene.use(await startReceiver(started, host.of()))
  await scene.eventually(() => expect(host.store.positions.size).toBe(1))
  await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  const told = (): ClusterEvent[] =>
    host.store.tellings.flatMap(({ observations }) => observations).filter((one) => one.source === 'event')
  await scene.eventually(() => {
    const reasons = told().map(({ reason, regarding }) => `${reason} ${regarding.kind}`)
    expect(reasons.filter((one) => one === 'Scheduled Pod')).toHaveLength(3)
    expect(reasons.filter((one) => one === 'SuccessfulCreate ReplicaSet')).toHaveLength(3)
    expect(reasons).toContain('ScalingReplicaSet Deployment')
  })
  const created = told().find(({ reason }) => reason === 'SuccessfulCreate')
  expect(created).toMatchObject({ controller: 'replicaset-controller', count: 1, type: 'Normal' })
  expect(created?.regarding.version).toBeGreaterThan(0n)
  expect(host.troubles).toEqual([])
})
