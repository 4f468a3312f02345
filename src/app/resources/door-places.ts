import type { CausewayConfig } from '../../config/causeway-config.ts'
import { fitPlaces, type Places } from './open-files.ts'

/** How many may be connected to each listener. */
export interface DoorPlaces {
  /** To each port of a receiver. */
  receivers: Places
  query: Places
  metrics: Places
  health: Places
}

/** Of all connections one address may have so many, where nothing else is configured. */
const SHARE_OF_ONE_ADDRESS = 0.25
/** Prometheus and a kubelet need one or two. */
const PROBED: Places = { max: 64, maxPerAddress: 32 }

/** How many there may be where the process may have so many files open, and what to change where that is too few. */
export function doorPlaces(
  { receivers, query, healthCheck, telemetry, cpid }: CausewayConfig,
  openFiles: number | undefined,
): DoorPlaces & { warning: string | undefined } {
  const toReceiver = placesOf(cpid.admission)
  const doors: { door: keyof DoorPlaces; places: Places }[] = []
  for (const { grpc, http } of receivers)
    for (const port of [grpc, http])
      if (port !== undefined) doors.push({ door: 'receivers', places: toReceiver })
  if (query !== undefined) doors.push({ door: 'query', places: placesOf(query) })
  if (telemetry.metrics !== undefined) doors.push({ door: 'metrics', places: PROBED })
  if (healthCheck !== undefined) doors.push({ door: 'health', places: PROBED })
  const { places, warning } = fitPlaces(
    doors.map((one) => one.places),
    openFiles,
  )
  const fitted = new Map(doors.map(({ door }, at) => [door, places[at]]))
  const of = (door: keyof DoorPlaces): Places => fitted.get(door) ?? PROBED
  return {
    receivers: of('receivers'),
    query: of('query'),
    metrics: of('metrics'),
    health: of('health'),
    warning,
  }
}

function placesOf(configured: { maxConnections: number; maxConnectionsPerAddress?: number }): Places {
  const { maxConnections: max, maxConnectionsPerAddress } = configured
  return {
    max,
    maxPerAddress: maxConnectionsPerAddress ?? Math.max(1, Math.floor(max * SHARE_OF_ONE_ADDRESS)),
  }
}
