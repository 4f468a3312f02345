import { createInstrumentation } from 'causeway-instrumentation'
import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

const GROUP = 'sites.example.com'
/** The change that alice says she makes. */
const CHANGE = '5a5a5a5a-0000-4000-8000-000000000001'

interface Website {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string; uid: string; annotations?: Record<string, string> }
  spec: { replicas: number }
}

/** Two controllers make Deployments of custom resources: one that is instrumented, and one that knows nothing of changes. */
async function play(stage: Stage): Promise<void> {
  const told = await stage.account('told-controller')
  const silent = await stage.account('silent-controller')
  const annotations = { 'causeway.io/cpid': CHANGE }
  await stage.apply('alice', website('told', { annotations }))
  const { extractFromObject, injectIntoObject, merge } = createInstrumentation()
  const deployments = stage.path('/apis/apps/v1', 'deployments')
  const first = await read(stage, 'told')
  const context = merge([extractFromObject(first)])
  await told.create(deployments, injectIntoObject(context, ownedBy(first)))
  await stage.rolledOut('told', 1)

  await stage.apply('bob', website('silent'))
  const second = await read(stage, 'silent')
  const made = await silent.create<{ metadata: object; spec: object }>(deployments, ownedBy(second))
  await stage.rolledOut('silent', 1)
  await silent.patch(stage.path(`/apis/${GROUP}/v1`, 'websites/silent/status'), { status: { ready: true } })
  await stage.kubectl('bob', 'patch', 'website/silent', '--type=merge', '--patch', '{"spec":{"replicas":2}}')
  await silent.patch(`${deployments}/silent`, { spec: { ...made.spec, replicas: 2 } })
  await stage.rolledOut('silent', 2)
}

function website(name: string, more: object = {}): object {
  return { apiVersion: `${GROUP}/v1`, kind: 'Website', metadata: { name, ...more }, spec: { replicas: 1 } }
}

function read(stage: Stage, name: string): Promise<Website> {
  return stage.api.get<Website>(stage.path(`/apis/${GROUP}/v1`, `websites/${name}`))
}

function ownedBy({ apiVersion, kind, metadata, spec }: Website): {
  metadata: { name: string; annotations?: Record<string, string> }
} {
  const { name, uid } = metadata
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }]
  return deployment(name, spec.replicas, { ownerReferences }) as ReturnType<typeof ownedBy>
}

export const customResource: Story = {
  name: 'custom',
  defines: [{ group: GROUP, version: 'v1', kind: 'Website', plural: 'websites' }],
  play,
  cascades: [
    {
      began: 'create websites/told',
      by: 'alice',
      services: sorted('told-controller', ...ROLLOUT_SERVICES),
      objects: { websites: 1, deployments: 1, replicasets: 1, pods: 1 },
      below: { ...ROLLOUT_BELOW, 'create deployments': ['create websites'] },
    },
    {
      began: 'create websites/silent',
      by: 'bob',
      services: sorted('silent-controller', ...ROLLOUT_SERVICES),
      objects: { websites: 1, deployments: 1, replicasets: 1, pods: 1 },
      below: { ...ROLLOUT_BELOW, 'create deployments': ['create websites'] },
    },
    {
      began: 'change websites/silent',
      by: 'bob',
      services: sorted('silent-controller', ...ROLLOUT_SERVICES),
      objects: { websites: 1, deployments: 1, replicasets: 1, pods: 1 },
    },
  ],
  roots: {
    pods: [
      ['change websites/silent', 'create websites/silent'],
      ['create websites/silent'],
      ['create websites/told'],
    ],
  },
}
