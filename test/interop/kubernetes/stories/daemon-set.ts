import { template } from '../support/manifests.ts'
import type { Stage } from '../support/stage.ts'
import type { Story } from '../support/story.ts'

async function play(stage: Stage): Promise<void> {
  const spec = { selector: { matchLabels: { app: 'agent' } }, template: template('agent') }
  await stage.apply('alice', { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'agent' }, spec })
  const path = stage.path('/apis/apps/v1', 'daemonsets/agent')
  await stage.statusIs(path, { numberAvailable: 3, observedGeneration: 1 })
  await stage.kubectl('bob', 'set', 'image', 'daemonset/agent', 'main=nginx:2')
  await stage.statusIs(path, { numberAvailable: 3, updatedNumberScheduled: 3, observedGeneration: 2 })
}

const SERVICES = ['daemon-set-controller', 'kube-scheduler', 'kubectl', 'kubelet']

export const daemonSet: Story = {
  name: 'daemon',
  play,
  cascades: [
    {
      began: 'create daemonsets/agent',
      by: 'alice',
      services: SERVICES,
      objects: { daemonsets: 1, controllerrevisions: 1, pods: 3 },
      below: {
        'create controllerrevisions': ['create daemonsets'],
        'create pods': ['create daemonsets'],
        'bind pods': ['create pods'],
      },
    },
    {
      began: 'change daemonsets/agent',
      by: 'bob',
      services: SERVICES,
      objects: { daemonsets: 1, controllerrevisions: 1, pods: 6 },
    },
  ],
}
