import { service, template } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import { ENDPOINT_SERVICES, sorted, type Story } from '../support/story.ts'

interface Renewed {
  metadata: { generation: number }
  status: {
    observedGeneration?: number
    currentRevision?: string
    updateRevision?: string
    availableReplicas?: number
  }
}

async function play(stage: Stage): Promise<void> {
  const spec = {
    replicas: 2,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: template('db'),
  }
  await stage.apply('alice', { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec })
  const path = stage.path('/apis/apps/v1', 'statefulsets/db')
  await stage.statusIs(path, { readyReplicas: 2, availableReplicas: 2 })
  await stage.apply('alice', service('db', { clusterIP: 'None' }))
  await stage.endpointsAre('db', 2)
  await stage.kubectl('bob', 'set', 'image', 'statefulset/db', 'main=nginx:2')
  await stage.until(async () => {
    const { metadata, status } = await stage.api.get<Renewed>(path)
    const { observedGeneration, currentRevision, updateRevision, availableReplicas } = status
    const isDone = currentRevision === updateRevision && availableReplicas === 2
    return isDone && observedGeneration === metadata.generation
  }, 'its Pods are renewed')
  await stage.endpointsAre('db', 2)
}

const SERVICES = ['kube-scheduler', 'kubectl', 'kubelet', 'statefulset-controller']

export const statefulSet: Story = {
  name: 'stateful',
  play,
  cascades: [
    {
      began: 'create statefulsets/db',
      by: 'alice',
      services: SERVICES,
      objects: { statefulsets: 1, controllerrevisions: 1, pods: 2 },
    },
    {
      began: 'create services/db',
      by: 'alice',
      services: sorted('kubectl', ...ENDPOINT_SERVICES),
      objects: { services: 1, endpoints: 1, endpointslices: 1 },
    },
    { began: 'change statefulsets/db', by: 'bob', services: sorted(...SERVICES, ...ENDPOINT_SERVICES) },
  ],
}
