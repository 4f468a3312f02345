import type { Clock } from '../../../packages/control-plane/clock.ts'
import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { autoscaler, deployment, load, service } from '../../../packages/control-plane/manifests.ts'

const QUIET_MS = 5_000
/** How long after one operator the other one acts. */
const MEANWHILE_MS = 60

/** Two operators work on one application and the same cluster: one on Deployments, the other on what stands around. */
export async function twoOperators(plane: ControlPlane, clock: Clock): Promise<void> {
  const { kubectl } = plane
  const at = (name: string) => ({ name, namespace: 'default' })
  const together = async (first: () => Promise<unknown>, second: () => Promise<unknown>) => {
    await Promise.all([first(), clock.sleep(MEANWHILE_MS).then(second)])
    await plane.settled(QUIET_MS)
  }
  const setPort = (name: string, port: number) => () =>
    kubectl.edit('v1/services', at(name), (object) => ({
      ...object,
      spec: { ...object.spec, ports: [{ port }] },
    }))
  const setImage = (name: string, image: string) => () =>
    kubectl.edit('apps/v1/deployments', at(name), (object) => ({
      ...object,
      spec: {
        ...object.spec,
        template: { ...object.spec.template, spec: { containers: [{ name: 'app', image }] } },
      },
    }))
  const setMinimum = (name: string, minReplicas: number) => () =>
    kubectl.edit('autoscaling/v2/horizontalpodautoscalers', at(name), (object) => ({
      ...object,
      spec: { ...object.spec, minReplicas },
    }))

  for (const name of ['web', 'shop']) {
    await together(
      () => kubectl.create('apps/v1/deployments', deployment(name, 2)),
      () => kubectl.create('v1/services', service(name)),
    )
  }
  await together(
    () => kubectl.create('v1/configmaps', load({ web: '400m' })),
    () => kubectl.create('autoscaling/v2/horizontalpodautoscalers', autoscaler('web', LIMITS)),
  )
  await together(() => kubectl.scale(at('shop'), 4), setPort('shop', 8080))
  await together(setImage('web', 'web:2.0'), setPort('web', 8081))
  await together(setMinimum('web', 5), setImage('web', 'web:3.0'))
  await together(() => kubectl.scale(at('shop'), 1), setPort('shop', 8082))
}

const LIMITS = { minReplicas: 2, maxReplicas: 6, averageValue: '250m' }
