import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { eventually } from '../../harness/eventually.ts'
import { ServedRepository } from './gitops/git-server.ts'
import { deployment, service, withReplicas } from './manifests.ts'
import type { Scene, Story, User } from './story.ts'

const SOURCE = 'source.toolkit.fluxcd.io/v1'
const APPLIED = 'kustomize.toolkit.fluxcd.io/v1'
const REQUESTED = 'reconcile.fluxcd.io/requestedAt'
/** How often Flux looks for commits, and how often for what somebody else changed. */
const OFTEN = '2s'
const AT_TIMES = '20s'
const HARDLY = '1h'
const UNTIL_CORRECTED_MS = 26_000
const LONGEST_MS = 60_000

const at = ({ name }: Scene, kind: 'gitrepositories' | 'kustomizations', ...path: string[]): string =>
  [`/apis/${kind === 'kustomizations' ? APPLIED : SOURCE}/namespaces/${name}/${kind}`, ...path].join('/')

const NAME = 'shop'

const source = (url: string, interval: string): object => ({
  ...{ apiVersion: SOURCE, kind: 'GitRepository', metadata: { name: NAME } },
  spec: { url, interval, ref: { branch: 'main' } },
})

const kustomization = ({ name }: Scene, interval: string): object => ({
  ...{ apiVersion: APPLIED, kind: 'Kustomization', metadata: { name: NAME } },
  spec: {
    ...{ interval, path: './', prune: true, targetNamespace: name },
    sourceRef: { kind: 'GitRepository', name: NAME },
  },
})

const file = (apiVersion: string, kind: string, object: object): string =>
  JSON.stringify({ apiVersion, kind, ...object })

const web = (replicas: number, image = 'i:1'): string =>
  file('apps/v1', 'Deployment', deployment('web', { replicas })).replaceAll('"i:1"', `"${image}"`)

const SERVICE = file('v1', 'Service', service('web'))
const SETTINGS = file('v1', 'ConfigMap', { metadata: { name: 'settings' }, data: { a: '1' } })

interface Source {
  readonly status?: { readonly artifact?: { readonly revision: string } }
}

/** Has somebody push a commit, and waits until Flux has found it. */
const pushed =
  (
    scene: Scene,
    repository: ServedRepository,
    by: User,
    message: string,
    files: Record<string, string | undefined>,
  ) =>
  async (api: KubeApi): Promise<unknown> => {
    const revision = await repository.push(by, message, files)
    await eventually(async () => {
      const { status } = await api.get<Source>(at(scene, 'gitrepositories', NAME))
      if (status?.artifact?.revision !== revision) throw new Error(`${revision} is not found`)
    }, LONGEST_MS)
    return []
  }

const asked = (): object => ({ metadata: { annotations: { [REQUESTED]: new Date().toISOString() } } })

/** A GitRepository and a Kustomization of what is in the repository already. */
async function setUp(scene: Scene, url: string, looks = OFTEN, corrects = HARDLY): Promise<void> {
  const { step, running } = scene
  await step('alice', 'create gitrepository shop', (api) =>
    api.create(at(scene, 'gitrepositories'), source(url, looks)),
  )
  await step('bob', 'create kustomization shop', (api) =>
    api.create(at(scene, 'kustomizations'), kustomization(scene, corrects)),
  )
  await running(1)
}

/** Stories for a cluster in which the source-controller and the kustomize-controller of Flux run. */
export const STORIES_WITH_GITOPS: readonly Story[] = [
  {
    name: 'i1-push',
    play: async (scene) => {
      const { step } = scene
      const repository = await ServedRepository.start()
      await repository.push('alice', 'first', { 'web.yaml': web(1), 'service.yaml': SERVICE })
      await setUp(scene, repository.url)
      const push = (by: User, what: string, files: Record<string, string | undefined>): Promise<void> =>
        step(by, `push ${what}`, pushed(scene, repository, by, what, files))
      await push('carol', 'image i:2', { 'web.yaml': web(1, 'i:2') })
      await push('alice', 'three replicas', { 'web.yaml': web(3, 'i:2') })
      await push('bob', 'a ConfigMap', { 'settings.yaml': SETTINGS })
      await push('carol', 'no Service any more', { 'service.yaml': undefined })
    },
  },
  {
    name: 'i2-drift',
    play: async (scene) => {
      const { step, at: pathOf } = scene
      const repository = await ServedRepository.start()
      await repository.push('alice', 'first', { 'web.yaml': web(1) })
      await setUp(scene, repository.url, OFTEN, AT_TIMES)
      const scale = (api: KubeApi): Promise<unknown> =>
        api.patch(pathOf('deployments', 'web'), withReplicas(3))
      await step('bob', 'scale to 3, which is corrected', scale, UNTIL_CORRECTED_MS / 4)
      await scene.running(1)
      const push = pushed(scene, repository, 'alice', 'image', { 'web.yaml': web(1, 'i:2') })
      await step('alice', 'push image i:2', push, 0)
      await step('bob', 'scale to 3 while a commit is applied', scale, UNTIL_CORRECTED_MS / 4)
      await scene.running(1)
      await step('carol', 'delete the deployment, which is made anew', (api) =>
        api.delete(pathOf('deployments', 'web')),
      )
      await scene.running(1)
    },
  },
  {
    name: 'i3-suspended',
    play: async (scene) => {
      const { step } = scene
      const repository = await ServedRepository.start()
      await repository.push('alice', 'first', { 'web.yaml': web(1) })
      await setUp(scene, repository.url)
      const suspend = (is: boolean) => (api: KubeApi) =>
        api.patch(at(scene, 'kustomizations', NAME), { spec: { suspend: is } })
      await step('bob', 'suspend', suspend(true))
      const files = { 'web.yaml': web(2, 'i:2') }
      await step('carol', 'push image i:2', pushed(scene, repository, 'carol', 'image', files))
      await step('alice', 'resume', suspend(false))
    },
  },
  {
    name: 'i4-asked',
    play: async (scene) => {
      const { step } = scene
      const repository = await ServedRepository.start()
      await repository.push('alice', 'first', { 'web.yaml': web(1) })
      await setUp(scene, repository.url, HARDLY)
      await repository.push('carol', 'image', { 'web.yaml': web(1, 'i:2') })
      await step('bob', 'ask for what was pushed', (api) =>
        api.patch(at(scene, 'gitrepositories', NAME), asked()),
      )
      await step('alice', 'ask for it to be applied again', (api) =>
        api.patch(at(scene, 'kustomizations', NAME), asked()),
      )
      await repository.push('carol', 'another branch', { 'web.yaml': web(2, 'i:3') }, 'next')
      await step('bob', 'take another branch', (api) =>
        api.patch(at(scene, 'gitrepositories', NAME), { spec: { ref: { branch: 'next' } } }),
      )
      await step('carol', 'delete the kustomization', (api) => api.delete(at(scene, 'kustomizations', NAME)))
    },
  },
]
