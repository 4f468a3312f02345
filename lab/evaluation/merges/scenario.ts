import type { Clock } from '../../../packages/control-plane/clock.ts'
import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { deployment, service } from '../../../packages/control-plane/manifests.ts'
import { DEPLOYMENTS } from './paper.ts'

export interface Scenario {
  /** How long the operator waits between two steps; virtual time. */
  waitMs: number
  /** Whether each Deployment has a Service too. */
  withServices: boolean
}

const ROUNDS = 4
const FEW = 1
const MANY = 3

/** Section 5.1.2: the replicas of five Deployments are changed to 1 and to 3 in turn, four times. */
export async function scaleInTurn(
  plane: ControlPlane,
  clock: Clock,
  { waitMs, withServices }: Scenario,
): Promise<void> {
  const names = Array.from({ length: DEPLOYMENTS }, (_, at) => `web-${at + 1}`)
  const scaleAll = async (replicas: number) => {
    for (const name of names) await plane.kubectl.scale({ namespace: 'default', name }, replicas)
    await clock.sleep(waitMs)
  }
  for (const name of names) {
    await plane.kubectl.create('apps/v1/deployments', deployment(name, FEW))
    if (withServices) await plane.kubectl.create('v1/services', service(name))
  }
  await clock.sleep(waitMs)
  await scaleAll(MANY)
  for (let round = 1; round < ROUNDS; round++) {
    await scaleAll(FEW)
    await scaleAll(MANY)
  }
}
