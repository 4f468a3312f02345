import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Cluster } from '../../../lab/harness/kubernetes/cluster.ts'
import { startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { TraceBackend } from '../../../lab/harness/sinks/trace-backend.ts'
import { processesWith } from '../../../lab/harness/processes/process-table.ts'
import { sceneTest } from '../support/scene.ts'

interface AuditEvent {
  verb: string
  user: { username: string }
  objectRef?: { resource: string; name?: string }
}

sceneTest('a Deployment rolls out on a real cluster, and the audit log says who did what', async (scene) => {
  const directory = join(scene.directory, 'cluster')
  const spans = scene.use(await TraceBackend.up())
  const webhook = scene.use(await startHttpBackend((response) => response.end()))
  const cluster = scene.use(
    await Cluster.start(directory, {
      users: { alice: ['developers'] },
      auditLevel: 'Metadata',
      auditWebhook: webhook.url,
      tracing: `127.0.0.1:${spans.port}`,
    }),
  )
  await cluster.kubectl('alice', 'create', 'deployment', 'web', '--image=nginx:1', '--replicas=3')
  await cluster.kubectl('alice', 'rollout', 'status', 'deployment/web', '--timeout=60s')
  const pods = await cluster
    .api()
    .get<{ items: { status: { phase: string } }[] }>('/api/v1/namespaces/default/pods')
  expect(pods.items.map(({ status }) => status.phase)).toEqual(['Running', 'Running', 'Running'])

  const events = (): AuditEvent[] =>
    readFileSync(cluster.auditLog, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as AuditEvent)
  const whoDid = (verb: string, resource: string): string[] => [
    ...new Set(
      events()
        .filter((event) => event.verb === verb && event.objectRef?.resource === resource)
        .map(({ user }) => user.username),
    ),
  ]
  await scene.eventually(() => {
    expect(whoDid('create', 'deployments')).toEqual(['alice'])
    expect(whoDid('create', 'replicasets')).toEqual([
      'system:serviceaccount:kube-system:deployment-controller',
    ])
  })

  await scene.eventually(() => {
    const batches = webhook.requests.map(({ body }) => JSON.parse(body.toString()) as { items: AuditEvent[] })
    const verbs = batches.flatMap(({ items }) => items).map((event) => event.objectRef?.resource)
    expect(verbs).toContain('deployments')
    expect(spans.names).toContain('etcdserverpb.KV/Txn')
  })

  await cluster[Symbol.asyncDispose]()
  expect(await processesWith(directory)).toEqual([])
})
