import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { podSpec, podsOf, withImage, withLabels, withReplicas } from './manifests.ts'
import type { Story } from './story.ts'

/** Some controllers look at everything again after 10 s. */
const AGAIN_MS = 12_000

/** A Deployment whose Pods take settings from a ConfigMap. */
function configured(name: string, settings: string): object {
  const pods = podSpec('i:1') as { containers: readonly object[] }
  const containers = pods.containers.map((one) => ({
    ...one,
    envFrom: [{ configMapRef: { name: settings } }],
  }))
  return { metadata: { name }, spec: { replicas: 2, ...podsOf(name, { ...pods, containers }) } }
}

/** For a cluster in which a reloader of settings and a starter of namespaces run, which have no custom resources. */
export const STORIES_WITH_PLAIN_CONTROLLERS: readonly Story[] = [
  {
    name: 'g2-reloaded',
    play: async ({ step, at }) => {
      const settings = (a: string): object => ({ metadata: { name: 'settings' }, data: { a } })
      const web = at('deployments', 'web')
      await step('alice', 'create configmap settings', make(at('configmaps'), settings('1')))
      await step('bob', 'create deployment web x2', make(at('deployments'), configured('web', 'settings')))
      await step('carol', 'change settings', change(at('configmaps', 'settings'), settings('2')))
      await step('alice', 'scale to 3', change(`${web}/scale`, withReplicas(3)))
      await step('bob', 'change settings', change(at('configmaps', 'settings'), settings('3')))
      await step('carol', 'image i:2', edit(web, withImage('i:2')))
      await step('alice', 'change settings', change(at('configmaps', 'settings'), settings('4')))
      await step('bob', 'delete deployment web', remove(web))
    },
  },
  {
    name: 'g3-started',
    play: async ({ name, step, at }) => {
      const namespace = `/api/v1/namespaces/${name}`
      const made = make('/api/v1/namespaces', { metadata: { name: 'g3-other' } })
      await step('bob', 'create namespace g3-other', made)
      await step(
        'carol',
        'create deployment web x2',
        make(at('deployments'), configured('web', 'house-rules')),
      )
      await step('alice', 'label the namespace', change(namespace, { metadata: { labels: { team: 'g3' } } }))
      await step('bob', 'change the rules', change(at('configmaps', 'house-rules'), { data: { more: 'y' } }))
      await step('carol', 'delete namespace g3-other', (api: KubeApi) =>
        api.delete('/api/v1/namespaces/g3-other'),
      )
    },
  },
  {
    name: 'g4-copied',
    play: async ({ step, at }) => {
      const [spread, takes] = ['copier.example.com/spread', 'copier.example.com/takes']
      const namespace = (name: string, labels: object): object => ({ metadata: { name, labels } })
      const secret = (password: string): object => ({ data: { password } })
      const copy = '/api/v1/namespaces/g4-other/secrets/login'
      await step(
        'bob',
        'create namespace g4-other, which takes copies',
        make('/api/v1/namespaces', namespace('g4-other', { [takes]: 'yes' })),
      )
      await step(
        'alice',
        'create secret login, which is spread',
        make(at('secrets'), { metadata: { name: 'login', labels: { [spread]: 'yes' } }, ...secret('b25l') }),
      )
      await step('carol', 'change it', change(at('secrets', 'login'), secret('dHdv')))
      await step('bob', 'delete the copy', remove(copy), AGAIN_MS)
      await step('alice', 'edit the copy', change(copy, secret('bXk=')), AGAIN_MS)
      await step(
        'carol',
        'create namespace g4-third, which takes none',
        make('/api/v1/namespaces', namespace('g4-third', {})),
      )
      await step(
        'bob',
        'let it take copies',
        change('/api/v1/namespaces/g4-third', withLabels({ [takes]: 'yes' })),
      )
      await step('alice', 'change the secret', change(at('secrets', 'login'), secret('MTI=')))
      await step('carol', 'spread it no more', change(at('secrets', 'login'), withLabels({ [spread]: null })))
      await step('bob', 'spread it again', change(at('secrets', 'login'), withLabels({ [spread]: 'yes' })))
      await step('alice', 'delete it', remove(at('secrets', 'login')))
    },
  },
  {
    name: 'g5-asleep',
    play: async ({ name, step, at }) => {
      const namespace = `/api/v1/namespaces/${name}`
      const sleeps = (so: string | null): object => ({
        metadata: { annotations: { 'night.example.com/sleeps': so } },
      })
      await step('alice', 'create deployment web x2', make(at('deployments'), configured('web', 'settings')))
      await step('bob', 'create deployment api x2', make(at('deployments'), configured('api', 'settings')))
      await step('carol', 'let the namespace sleep', change(namespace, sleeps('yes')))
      await step('alice', 'image i:2 of web', edit(at('deployments', 'web'), withImage('i:2')))
      await step(
        'bob',
        'scale api to 1',
        change(at('deployments', 'api', 'scale'), withReplicas(1)),
        AGAIN_MS,
      )
      await step('carol', 'wake it', change(namespace, sleeps(null)))
      await step('alice', 'let it sleep', change(namespace, sleeps('yes')))
      await step('bob', 'delete deployment api', remove(at('deployments', 'api')))
    },
  },
]
