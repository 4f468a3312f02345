import type { Range } from '../chance.ts'
import type { Controller } from '../runtime/controller.ts'
import { deploymentController } from './deployment-controller.ts'
import { endpointsController } from './endpoints-controller.ts'
import { garbageCollector } from './garbage-collector.ts'
import { horizontalPodAutoscaler, type AutoscalerSettings } from './horizontal-pod-autoscaler.ts'
import { kubelet, type KubeletSettings } from './kubelet.ts'
import { metricsServer } from './metrics-server.ts'
import { replicaSetController } from './replicaset-controller.ts'
import { scheduler } from './scheduler.ts'

/** How long what is not the API server's doing takes. */
export interface Pace extends KubeletSettings, AutoscalerSettings {
  scoringMs: Range
}

/** About what is usual with small images that the nodes already have. */
const PACE: Pace = {
  scoringMs: { least: 2, most: 8 },
  pullingMs: { least: 50, most: 200 },
  startingMs: { least: 300, most: 900 },
  stoppingMs: { least: 100, most: 400 },
  syncPeriodMs: 15_000,
  stabilizationMs: 300_000,
}

export const CONTROLLER_NAMES = [
  'deployment-controller',
  'replicaset-controller',
  'scheduler',
  'kubelet',
  'endpoints-controller',
  'horizontal-pod-autoscaler',
  'metrics-server',
  'garbage-collector',
] as const

export type ControllerName = (typeof CONTROLLER_NAMES)[number]

export function controllersOf(pace: Partial<Pace>): Record<ControllerName, Controller> {
  const full = { ...PACE, ...pace }
  return {
    'deployment-controller': deploymentController,
    'replicaset-controller': replicaSetController,
    scheduler: scheduler(full.scoringMs),
    kubelet: kubelet(full),
    'endpoints-controller': endpointsController,
    'horizontal-pod-autoscaler': horizontalPodAutoscaler(full),
    'metrics-server': metricsServer,
    'garbage-collector': garbageCollector,
  }
}
