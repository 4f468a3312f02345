import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { podSpec, podsOf, withImage, withReplicas } from './manifests.ts'
import type { Story } from './story.ts'

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
]
