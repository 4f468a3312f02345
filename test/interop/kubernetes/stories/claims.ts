import { service, template } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { sorted, type Story } from '../support/story.ts'

const CLASS = 'by-hand'

/** A volume and a claim that meet, and a StatefulSet that claims one for each of its Pods. */
async function play(stage: Stage): Promise<void> {
  await stage.apply('alice', volume('claims-shared'))
  await stage.statusIs('/api/v1/persistentvolumes/claims-shared', { phase: 'Available' })
  await stage.apply('bob', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'shared' },
    spec: wanted,
  })
  await stage.statusIs(stage.path('/api/v1', 'persistentvolumeclaims/shared'), { phase: 'Bound' })
  await stage.statusIs('/api/v1/persistentvolumes/claims-shared', { phase: 'Bound' })
  const mounts = {
    containers: [{ name: 'main', image: 'nginx:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  }
  await stage.apply('alice', service('db', { clusterIP: 'None' }))
  await stage.apply('alice', {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db' },
    spec: {
      replicas: 2,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: template('db', mounts),
      volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: wanted }],
    },
  })
  await stage.statusIs(stage.path('/api/v1', 'persistentvolumeclaims/data-db-0'), { phase: 'Pending' })
  await stage.apply('bob', volume('claims-0'), volume('claims-1'))
  await stage.statusIs(stage.path('/apis/apps/v1', 'statefulsets/db'), {
    readyReplicas: 2,
    availableReplicas: 2,
  })
}

const wanted = {
  storageClassName: CLASS,
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
}

function volume(name: string): object {
  const { storageClassName, accessModes } = wanted
  const spec = { storageClassName, accessModes, capacity: { storage: '1Gi' }, hostPath: { path: '/tmp' } }
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec }
}

const BINDER = sorted('kubectl', 'persistent-volume-binder')

export const claims: Story = {
  name: 'claims',
  play,
  cascades: [
    { began: 'create persistentvolumes/claims-shared', by: 'alice', services: BINDER },
    {
      began: 'create persistentvolumeclaims/shared',
      by: 'bob',
      services: BINDER,
      objects: { persistentvolumes: 1, persistentvolumeclaims: 1 },
      below: {
        'update persistentvolumes': ['create persistentvolumeclaims'],
        'update persistentvolumeclaims': ['update persistentvolumes'],
      },
    },
    { began: 'create services/db', by: 'alice' },
    {
      began: 'create statefulsets/db',
      by: 'alice',
      below: { 'create persistentvolumeclaims': ['create statefulsets', 'update statefulsets'] },
    },
    { began: 'create persistentvolumes/claims-0', by: 'bob' },
    { began: 'create persistentvolumes/claims-1', by: 'bob' },
  ],
  roots: {
    persistentvolumeclaims: [
      ['create persistentvolumeclaims/shared', 'create persistentvolumes/claims-shared'],
      ['create persistentvolumes/claims-0', 'create statefulsets/db'],
      ['create persistentvolumes/claims-1', 'create statefulsets/db'],
    ],
    persistentvolumes: [
      ['create persistentvolumeclaims/shared', 'create persistentvolumes/claims-shared'],
      ['create persistentvolumes/claims-0', 'create statefulsets/db'],
      ['create persistentvolumes/claims-1', 'create statefulsets/db'],
    ],
  },
}
