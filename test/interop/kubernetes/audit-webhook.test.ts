import { join } from 'node:path'
import { expect } from '@jest/globals'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import type { AuditedRequest } from '../../../src/model/kubernetes-observations.ts'
import { startReceiver } from '../../../src/receiver/k8s-audit/start-k8s-audit.ts'
import { SourceHost } from '../../receiver/support/source-host.ts'
import { sceneTest } from '../support/scene.ts'

const auditedIn = ({ store }: SourceHost): AuditedRequest[] =>
  store.told.flatMap((one) => (one.source === 'audit' ? [one] : []))

sceneTest('a real API server posts its audit events, and what its log says is the same', async (scene) => {
  const port = await freePort()
  const [posted, followed] = [new SourceHost(), new SourceHost()]
  const webhook = { host: '127.0.0.1', port, maxBytes: 33_554_432 }
  const common = { type: 'k8s_audit', signals: ['traces' as const], listeners: [] }
  const byWebhook = { ...common, id: 'k8s_audit/webhook', settings: { cluster: 'test', webhook } }
  scene.use(await startReceiver(byWebhook, posted.of()))
  const directory = join(scene.directory, 'cluster')
  const cluster = scene.use(
    await Cluster.start(directory, {
      users: { alice: ['developers'] },
      auditLevel: 'RequestResponse',
      auditWebhook: `http://127.0.0.1:${port}/audit`,
    }),
  )
  const log = { path: cluster.auditLog, startAt: 'beginning' as const, maxLineBytes: 16_777_216, pollMs: 50 }
  const byLog = { ...common, id: 'k8s_audit/log', settings: { cluster: 'test', log } }
  scene.use(await startReceiver(byLog, followed.of()))
  await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=90s')
  await cluster.kubectl('alice', 'create', 'configmap', 'last')
  await scene.eventually(() => {
    for (const host of [posted, followed])
      expect(auditedIn(host).map(({ object }) => object.name)).toContain('last')
    const [byPost, byFile] = [posted, followed].map((host) =>
      auditedIn(host)
        .map(({ request }) => request.auditId)
        .sort(),
    )
    expect(byPost!.length).toBeGreaterThan(50)
    expect(byPost).toEqual(byFile)
  })
  const created = auditedIn(posted).find(({ object }) => object.resource === 'deployments')
  expect(created).toMatchObject({
    request: { verb: 'create', actor: { user: 'alice' } },
    object: { name: 'web' },
  })
  expect(created?.version).toBeGreaterThan(0n)
  expect([posted.unreadable, followed.unreadable, posted.troubles, followed.troubles]).toEqual([0, 0, [], []])
})
