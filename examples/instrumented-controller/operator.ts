import type { Cluster, Deployment, Settings } from './cluster.ts'

type Mark = <T extends Settings | Deployment>(object: T) => T

/**
 * Plays the operator: creates a Deployment, says in a ConfigMap which image it is to have, changes that, and last sets the
 * image of the Deployment by hand. Everything but the last goes through `mark`, as through an instrumented kubectl.
 */
export async function operate(cluster: Cluster, reconcile: () => Promise<void>, mark: Mark): Promise<void> {
  await cluster.write(mark(deploymentWith('web:1')))
  await cluster.settle(reconcile)
  for (const image of ['web:2', 'web:3']) {
    await cluster.write(mark(settingsWith(image)))
    await cluster.settle(reconcile)
  }
  if (cluster.deployment === undefined) throw new Error('the Deployment is gone')
  await cluster.write({ ...cluster.deployment, spec: { image: 'web:1' } })
  await cluster.settle(reconcile)
}

function deploymentWith(image: string): Deployment {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: { image },
  }
}

function settingsWith(image: string): Settings {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', namespace: 'default' },
    data: { image },
  }
}
