import { SIGNAL_UNITS } from '../model/otlp-requests.ts'
import type { DropReason } from '../platform/connections.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Flow, Flows } from './flows.ts'
import type {
  AnsweredRequest,
  ClusterObserver,
  DroppedConnection,
  ReceiverObserver,
  SourceObserver,
  UnauthenticatedRequest,
} from './receiver-type.ts'

interface ReceiverTelemetrySettings {
  readonly metrics: Metrics
  readonly log: Logger
  /** Called with a warning for the operator. */
  readonly onNotice: (reason: string) => void
  /** Called when a request could not be stored. */
  readonly onTrouble: (reason: string) => void
}

/** Turns what receivers report into metrics and log lines. */
export class ReceiverTelemetry implements ReceiverObserver {
  readonly #settings: ReceiverTelemetrySettings

  constructor(settings: ReceiverTelemetrySettings) {
    this.#settings = settings
  }

  answered({ receiver, transport, signal, outcome }: AnsweredRequest): void {
    const labels = { receiver, transport }
    const unit = SIGNAL_UNITS[signal]
    if (outcome.kind === 'accepted') {
      this.#settings.metrics.add(`otelcol_receiver_accepted_${unit}`, outcome.stored, labels)
      this.#settings.metrics.add(`otelcol_receiver_refused_${unit}`, outcome.rejected, labels)
      if (outcome.message !== '') {
        this.#settings.log.debug('Answered with a partial success.', {
          receiver,
          rejected: outcome.rejected,
          reason: outcome.message,
        })
      }
      return
    }
    if (outcome.kind === 'busy' && outcome.cause !== undefined)
      this.#settings.metrics.add('cpid_refused_requests', 1, { ...labels, reason: outcome.cause })
    const kind = outcome.kind === 'failed' ? 'failed' : 'refused'
    this.#settings.metrics.add(`otelcol_receiver_${kind}_${unit}`, 1, labels)
    if (outcome.kind === 'failed') this.#settings.onTrouble(outcome.reason)
  }

  unauthenticated({ receiver, transport, reason }: UnauthenticatedRequest): void {
    this.#settings.metrics.add('cpid_unauthenticated_requests', 1, { receiver, transport })
    this.#settings.onNotice(`${receiver} turned a request away: ${reason}`)
  }

  dropped({ receiver, transport, reason }: DroppedConnection): void {
    this.#settings.metrics.add('cpid_dropped_connections', 1, { receiver, transport, reason })
    this.#settings.onNotice(dropReasonText({ receiver, transport, reason }))
  }

  unread({ receiver, transport }: Pick<DroppedConnection, 'receiver' | 'transport'>): void {
    this.#settings.metrics.add('cpid_unread_answers', 1, { receiver, transport })
  }
}

const WHY: Readonly<Record<DropReason, string>> = {
  limit: 'there are more than max_connections allows',
  address: 'one address has as many requests under way as max_connections_per_address allows',
  stranger: 'no credential was shown within ten seconds',
}

/** Why a connection was closed: one sentence for each reason. */
function dropReasonText({ receiver, transport, reason }: DroppedConnection): string {
  return `${receiver} closes connections or refuses requests over ${transport}: ${WHY[reason]}`
}

/** Counts what receivers see of clusters, and warns of what cannot be read. */
export function clusterReports(
  metrics: Metrics,
  notice: (reason: string) => void,
): ClusterObserver & SourceObserver {
  return {
    recorded: (receiver, observations) => metrics.add('cpid_observations', observations, { receiver }),
    skipped: (receiver, reason, count) =>
      metrics.add('cpid_observations_skipped', count, { receiver, reason }),
    unreadable: (receiver, count, reason) => {
      metrics.add('cpid_observations_unreadable', count, { receiver })
      notice(`${receiver}: ${reason}`)
    },
    lost: (receiver, count) => metrics.add('cpid_observations_lost', count, { receiver }),
    behind: (receiver, bytes) => metrics.set('cpid_audit_log_lag_bytes', bytes, { receiver }),
    relisted: (receiver) => metrics.add('cpid_relists', 1, { receiver }),
    watched: (receiver) => metrics.add('cpid_watches', 1, { receiver }),
    refused: (receiver, resources) => metrics.set('cpid_refused_resources', resources, { receiver }),
  }
}

const MAX_NAMES = 100
const OTHERS = 'other'

/** Shows at every scrape what each flow has waiting and was refused; flows after the hundredth share one name. */
export function reportFlows(flows: Flows, metrics: Metrics): void {
  metrics.set('cpid_flow_limit_requests', flows.maxRequests)
  metrics.set('cpid_flow_limit_bytes', flows.maxBytes)
  const names = new Set<string>()
  const labelled = ({ name }: Flow): string => {
    if (names.size < MAX_NAMES) names.add(name)
    return names.has(name) ? name : OTHERS
  }
  metrics.beforeScrape(() => {
    const waiting = new Map([...names, OTHERS].map((flow) => [flow, { requests: 0, bytes: 0 }]))
    for (const flow of flows.all()) {
      const name = labelled(flow)
      const sum = waiting.get(name) ?? { requests: 0, bytes: 0 }
      waiting.set(name, { requests: sum.requests + flow.requests, bytes: sum.bytes + flow.bytes })
      metrics.add('cpid_flow_refused_requests', flow.takeRefused(), { flow: name })
    }
    for (const [flow, { requests, bytes }] of waiting) {
      metrics.set('cpid_flow_waiting_requests', requests, { flow })
      metrics.set('cpid_flow_waiting_bytes', bytes, { flow })
    }
  })
}
