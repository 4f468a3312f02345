import type { AdmissionConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/declarations.ts'
import type { IngestPort } from '../model/ingest.ts'
import { parseRelations } from '../inference/parse-relations.ts'
import type { ObservationPort } from '../model/ports/observation-port.ts'
import { Flows } from '../receiver/admission/flows.ts'
import { InFlight } from '../receiver/admission/in-flight.ts'
import type { ReceiverHost } from '../receiver/receiver-type.ts'
import { clusterReports } from './metrics/cluster-reports.ts'
import { reportFlows } from './metrics/flow-metrics.ts'
import type { AuthenticatorOf } from './open-authenticators.ts'
import { reportConnections, type Starting } from './starting.ts'

const RECEIVER_GRACE_MS = 2_000
/** Of what may be in flight, a sender that is alone may have so much: there is room for another whenever it comes. */
const SHARE_OF_ONE = 0.25

/** What all receivers take in together. */
export interface Intake {
  readonly inFlight: InFlight
  readonly flows: Flows
}

export function createIntake({ maxInFlightBytes, maxFlowRequests, maxFlowBytes }: AdmissionConfig): Intake {
  return {
    inFlight: new InFlight(maxInFlightBytes),
    flows: new Flows({
      maxRequests: maxFlowRequests,
      maxBytes: maxFlowBytes,
      maxBytesAlone: Math.max(maxFlowBytes, maxInFlightBytes * SHARE_OF_ONE),
    }),
  }
}

/** What receivers share. */
export interface Receiving extends Intake {
  readonly store: IngestPort & { readonly observations: ObservationPort }
  readonly authenticatorOf: AuthenticatorOf
  readonly memory: { readonly isRefusing: boolean }
}

/** Starts all receivers behind what guards them in common, and has the metrics tell of that; by how many ways one gets in is returned. */
export async function startReceivers(
  {
    config: { receivers, cpid },
    components,
    feed,
    metrics,
    log,
    places: { receivers: places },
    open,
  }: Starting,
  { store, authenticatorOf, inFlight, flows, memory }: Receiving,
): Promise<number> {
  const host: ReceiverHost = {
    intake: store,
    inference: store.observations,
    references: parseRelations(cpid.inference.relations).references,
    observer: feed,
    clusters: clusterReports(metrics, (reason) => feed.notice(reason)),
    inFlight,
    flows,
    memory,
    maxConnections: places.max,
    maxConnectionsPerAddress: places.maxPerAddress,
    requestTimeoutMs: cpid.admission.requestTimeoutMs,
    shutdownGraceMs: RECEIVER_GRACE_MS,
    authenticatorOf,
    started: (what, fields) => log.info(what, fields),
    onTrouble: (reason) => feed.notice(reason),
  }
  let ways = 0
  for (const receiver of receivers) {
    const module = await typeNamed(components.receivers, receiver.type)?.load()
    if (module === undefined) throw new Error(`there is no receiver of the type ${receiver.type}`)
    const running = open.use(await module.startReceiver(receiver, host))
    for (const way of running.ways) {
      const listener = { receiver: receiver.id, transport: way.transport }
      reportConnections(metrics, listener, places.max, () => way.connections)
      ways++
    }
  }
  reportFlows(flows, metrics)
  metrics.set('cpid_in_flight_limit_bytes', inFlight.maxBytes)
  metrics.beforeScrape(() => metrics.set('cpid_in_flight_bytes', inFlight.bytes))
  return ways
}
