import { deployment } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ROLLOUT_BELOW, ROLLOUT_SERVICES, sorted, type Story } from '../support/story.ts'

/** What Flux and Argo CD do, by service accounts of their own: a person changes their object, they apply what it names. */
async function play(stage: Stage): Promise<void> {
  const flux = await stage.account('kustomize-controller')
  const argo = await stage.account('argocd-application-controller')
  await stage.apply('alice', {
    apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
    kind: 'Kustomization',
    metadata: { name: 'shop' },
    spec: { revision: 1 },
  })
  const labels = {
    'kustomize.toolkit.fluxcd.io/name': 'shop',
    'kustomize.toolkit.fluxcd.io/namespace': stage.namespace,
  }
  await flux.create(stage.path('/apis/apps/v1', 'deployments'), deployment('front', 1, { labels }))
  await stage.rolledOut('front', 1)
  await stage.apply('bob', {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'Application',
    metadata: { name: 'billing' },
    spec: { revision: 1 },
  })
  const annotations = {
    'argocd.argoproj.io/tracking-id': `billing:apps/Deployment:${stage.namespace}/back`,
  }
  await argo.create(stage.path('/apis/apps/v1', 'deployments'), deployment('back', 1, { annotations }))
  await stage.rolledOut('back', 1)
  await stage.kubectl(
    'bob',
    'patch',
    'application/billing',
    '--type=merge',
    '--patch',
    '{"spec":{"revision":2}}',
  )
  await argo.patch(stage.path('/apis/apps/v1', 'deployments/back'), { spec: { replicas: 2 } })
  await stage.rolledOut('back', 2)
}

export const gitOps: Story = {
  name: 'gitops',
  defines: [
    {
      group: 'kustomize.toolkit.fluxcd.io',
      version: 'v1',
      kind: 'Kustomization',
      plural: 'kustomizations',
    },
    { group: 'argoproj.io', version: 'v1alpha1', kind: 'Application', plural: 'applications' },
  ],
  play,
  cascades: [
    {
      began: 'create kustomizations/shop',
      by: 'alice',
      services: sorted('kustomize-controller', ...ROLLOUT_SERVICES),
      objects: { kustomizations: 1, deployments: 1, replicasets: 1, pods: 1 },
      below: { ...ROLLOUT_BELOW, 'create deployments': ['create kustomizations'] },
    },
    {
      began: 'create applications/billing',
      by: 'bob',
      services: sorted('argocd-application-controller', ...ROLLOUT_SERVICES),
      objects: { applications: 1, deployments: 1, replicasets: 1, pods: 1 },
      below: { ...ROLLOUT_BELOW, 'create deployments': ['create applications'] },
    },
    {
      began: 'change applications/billing',
      by: 'bob',
      services: sorted('argocd-application-controller', ...ROLLOUT_SERVICES),
      objects: { applications: 1, deployments: 1, replicasets: 1, pods: 1 },
    },
  ],
  roots: {
    pods: [
      ['change applications/billing', 'create applications/billing'],
      ['create applications/billing'],
      ['create kustomizations/shop'],
    ],
  },
}
