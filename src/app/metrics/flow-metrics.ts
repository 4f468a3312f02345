import type { Flow } from '../../receiver/admission/flow.ts'
import type { Flows } from '../../receiver/admission/flows.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

const MAX_NAMES = 100
const OTHERS = 'other'

/** Has every scrape show what each flow has waiting and was refused; after a hundred names the rest are one. */
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
