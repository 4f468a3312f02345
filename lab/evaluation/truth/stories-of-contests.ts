import { setTimeout as pause } from 'node:timers/promises'
import type { KubeApi } from '../../harness/kubernetes/kube-api.ts'
import { change, edit, make, remove } from './deeds.ts'
import { deployment, podSpec, podsOf, service, withImage, withLabels, withReplicas } from './manifests.ts'
import type { SeenObject } from './recorder.ts'
import type { Story } from './story.ts'

const AT_ONCE = 0
/** Long enough that it is written down in order. */
const AFTER_MS = 1_000
const IN_TURN_MS = 10_000
const APIEXTENSIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const definition = (plural: string, group: string): object => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    ...{ group, scope: 'Namespaced' },
    names: { kind: 'Thing', plural, singular: 'thing' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})

/** Stories of several hands on one thing. */
export const STORIES_OF_CONTESTS: readonly Story[] = [
  {
    name: 'w2-ticking',
    play: async ({ name, step, at, byItself, list }) => {
      const spec = { template: { spec: { ...podSpec('j:1'), restartPolicy: 'Never' } } }
      const cron = at('cronjobs', 'tick')
      const made = ({ kind, metadata }: SeenObject): boolean => kind === 'Job' && metadata.namespace === name
      const schedule = {
        schedule: '* * * * *',
        concurrencyPolicy: 'Replace',
        suspend: true,
        jobTemplate: { spec },
      }
      await step(
        'alice',
        'create cronjob tick, suspended',
        make(at('cronjobs'), { metadata: { name: 'tick' }, spec: schedule }),
      )
      await step('bob', 'resume it', change(cron, { spec: { suspend: false } }), AT_ONCE)
      await byItself('its time has come', made)
      await byItself('its time has come again', made)
      await step('alice', 'forbid two at once', change(cron, { spec: { concurrencyPolicy: 'Forbid' } }))
      await step('carol', 'suspend it', change(cron, { spec: { suspend: true } }))
      await step('bob', 'suspend its job', async (api) => {
        const [job] = await list('jobs')
        return api.patch(at('jobs', job!.metadata.name), { spec: { suspend: true } })
      })
      await step('alice', 'resume its job', async (api) => {
        const [job] = await list('jobs')
        return api.patch(at('jobs', job!.metadata.name), { spec: { suspend: false } })
      })
      await step('carol', 'delete its job', async (api) => {
        const [job] = await list('jobs')
        return remove(at('jobs', job!.metadata.name))(api)
      })
      await step('bob', 'delete the cronjob', remove(cron))
    },
  },
  {
    name: 'w3-paused',
    play: async ({ step, at }) => {
      const web = at('deployments', 'web')
      const env = {
        spec: { template: { spec: { containers: [{ name: 'c', env: [{ name: 'A', value: '1' }] }] } } },
      }
      const resources = {
        spec: {
          template: { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '50m' } } }] } },
        },
      }
      await step(
        'alice',
        'create deployment web x3',
        make(at('deployments'), deployment('web', { replicas: 3 })),
      )
      await step('bob', 'pause it', change(web, { spec: { paused: true } }))
      await step('carol', 'image i:2', edit(web, withImage('i:2')))
      await step('alice', 'resources', edit(web, resources))
      await step('bob', 'environment', edit(web, env))
      await step('carol', 'scale to 4', change(`${web}/scale`, withReplicas(4)))
      await step('alice', 'resume', change(web, { spec: { paused: null } }))
      await step('bob', 'pause again', change(web, { spec: { paused: true } }))
      await step('carol', 'image i:3', edit(web, withImage('i:3')))
      await step('alice', 'back to image i:2', edit(web, withImage('i:2')))
      await step('bob', 'resume, which changes nothing', change(web, { spec: { paused: null } }))
      await step(
        'carol',
        'allow one more',
        change(web, { spec: { strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } } }),
      )
      await step('alice', 'image i:4', edit(web, withImage('i:4')), 8_000)
    },
  },
  {
    name: 'w4-together',
    play: async ({ step, at }) => {
      const [map, web, front] = [
        at('configmaps', 'settings'),
        at('deployments', 'web'),
        at('services', 'web'),
      ]
      const note = (who: string, what: string | null): object => ({
        metadata: { annotations: { [`example.com/${who}`]: what } },
      })
      await step(
        'alice',
        'create configmap settings',
        make(at('configmaps'), { metadata: { name: 'settings' }, data: { a: '1' } }),
      )
      await step(
        'bob',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('carol', 'create service web', make(at('services'), service('web')))
      await step('alice', 'add to settings', change(map, { data: { b: '1' } }), AT_ONCE)
      await step('carol', 'add to settings too', change(map, { data: { c: '1' } }), AT_ONCE)
      await step('bob', 'take one away', change(map, { data: { a: null } }), AT_ONCE)
      await step('carol', 'take another away', change(map, { data: { b: null } }))
      await step('carol', 'label the service', change(front, withLabels({ team: 'c' })), AT_ONCE)
      await step('alice', 'annotate the service', change(front, note('alice', 'x')))
      await step('bob', 'note on web', change(web, note('bob', 'x')), AT_ONCE)
      await step('carol', 'scale to 3 just after', change(`${web}/scale`, withReplicas(3)))
      await step('carol', 'unlabel the service', change(front, withLabels({ team: null })))
      await step('bob', 'image i:2', edit(web, withImage('i:2')), 8_000)
      await step(
        'alice',
        'replace the settings',
        async (api) => {
          const now = await api.get<object>(map)
          return api.replace(map, { ...now, data: { z: '1' } })
        },
        AFTER_MS,
      )
      await step('carol', 'delete the settings', remove(map), AFTER_MS)
      await step(
        'alice',
        'create the settings again',
        make(at('configmaps'), { metadata: { name: 'settings' }, data: { a: '1' } }),
      )
    },
  },
  {
    name: 'w5-orphaned',
    play: async ({ step, at, running }) => {
      const set = (replicas: number, image: string): object => ({
        metadata: { name: 'db' },
        spec: {
          replicas,
          serviceName: 'db',
          podManagementPolicy: 'Parallel',
          ...podsOf('db', podSpec(image)),
        },
      })
      const daemon = (image: string): object => ({
        metadata: { name: 'agent' },
        spec: podsOf('agent', podSpec(image)),
      })
      const job = {
        metadata: { name: 'batch' },
        spec: { parallelism: 2, template: { spec: { ...podSpec('j:1'), restartPolicy: 'Never' } } },
      }
      await step('alice', 'create statefulset db x2', make(at('statefulsets'), set(2, 'i:1')))
      await running(2)
      await step('bob', 'delete it, and orphan its own', remove(at('statefulsets', 'db'), 'Orphan'))
      await step('carol', 'create it again x3 with i:2', make(at('statefulsets'), set(3, 'i:2')), IN_TURN_MS)
      await step('alice', 'undo to i:1', edit(at('statefulsets', 'db'), withImage('i:1')), IN_TURN_MS)
      await step('bob', 'create daemonset agent', make(at('daemonsets'), daemon('i:1')))
      await step('carol', 'delete it, and orphan its own', remove(at('daemonsets', 'agent'), 'Orphan'))
      await step('alice', 'create it again', make(at('daemonsets'), daemon('i:1')), IN_TURN_MS)
      await step('bob', 'image i:2 of it', edit(at('daemonsets', 'agent'), withImage('i:2')), IN_TURN_MS)
      await step('carol', 'delete the daemonset', remove(at('daemonsets', 'agent'), 'Foreground'))
      await step('alice', 'create job batch', make(at('jobs'), job))
      await step('bob', 'delete job batch, and orphan its own', remove(at('jobs', 'batch'), 'Orphan'))
      await step('carol', 'delete all pods', (api) => api.delete(at('pods')), IN_TURN_MS)
    },
  },
  {
    name: 'w6-defined',
    play: async ({ name, step, at }) => {
      const group = 'w6.example.com'
      const things = `/apis/${group}/v1/namespaces/${name}/w6-things`
      const path = `${APIEXTENSIONS}/w6-things.${group}`
      const held = {
        apiVersion: `${group}/v1`,
        kind: 'Thing',
        metadata: { name: 'one', finalizers: ['example.com/by-hand'] },
      }
      await step('alice', 'define things', make(APIEXTENSIONS, definition('w6-things', group)), IN_TURN_MS)
      await step('bob', 'create a thing with a finalizer', make(things, held))
      await step(
        'carol',
        'give things a short name',
        change(path, { spec: { names: { shortNames: ['w6t'] } } }),
        IN_TURN_MS,
      )
      await step('alice', 'delete the definition, which stays', remove(path), IN_TURN_MS)
      await step(
        'bob',
        'delete the finalizer of the thing',
        change(`${things}/one`, { metadata: { finalizers: null } }),
        IN_TURN_MS,
      )
      await step(
        'carol',
        'define things again',
        make(APIEXTENSIONS, definition('w6-things', group)),
        IN_TURN_MS,
      )
      await step(
        'alice',
        'define what names the same',
        make(APIEXTENSIONS, definition('w6-others', group)),
        IN_TURN_MS,
      )
      await step('bob', 'delete the first definition', remove(path), IN_TURN_MS)
      await step('carol', 'delete the other', remove(`${APIEXTENSIONS}/w6-others.${group}`), IN_TURN_MS)
      await step('bob', 'create configmap end', make(at('configmaps'), { metadata: { name: 'end' } }))
    },
  },
]

/** Stories of what controllers do not see while they do not run. */
export const STORIES_OF_ABSENCES: readonly Story[] = [
  {
    name: 'w7-absent',
    stopsPrograms: true,
    play: async ({ step, at, aPod, without, quiet }) => {
      const web = at('deployments', 'web')
      const manager = 'kube-controller-manager'
      const scale = (replicas: number): ((api: KubeApi) => Promise<unknown>) =>
        change(`${web}/scale`, withReplicas(replicas))
      await step(
        'alice',
        'create deployment web x2',
        make(at('deployments'), deployment('web', { replicas: 2 })),
      )
      await step('bob', 'create service web', make(at('services'), service('web')))
      await without(manager, () => step('carol', 'scale to 4 while nobody sees it', scale(4)))
      await quiet(IN_TURN_MS)
      await without(manager, async () => {
        await pause(1_000)
      })
      await quiet(IN_TURN_MS)
      await without(manager, () => step('bob', 'image i:2 while nobody sees it', edit(web, withImage('i:2'))))
      await quiet(IN_TURN_MS)
      const pod = await aPod()
      await without(manager, () =>
        step('carol', 'delete a pod while nobody sees it', remove(at('pods', pod))),
      )
      await quiet(IN_TURN_MS)
      await without('kube-scheduler', () => step('alice', 'scale to 5 while nobody binds', scale(5)))
      await quiet(IN_TURN_MS)
      await step('bob', 'image i:3', edit(web, withImage('i:3')), 2_000)
      await without(manager, () => pause(2_000))
      await quiet(IN_TURN_MS)
      await without(manager, () => step('alice', 'delete the deployment while nobody sees it', remove(web)))
      await quiet(IN_TURN_MS)
    },
  },
]
