import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import { nanosAfter } from './otlp-requests.ts'

/** What is measured of a Pod, or of a container in it, as kubeletstats sends it. */
export interface PodSketch {
  uid: string
  container?: string
  cluster?: string
  service?: string
  /** By name: what was measured when, in milliseconds after START_NS. */
  metrics: Record<string, readonly (readonly [atMs: number, value: number])[]>
}

/** An export request for metrics as OTLP/JSON. */
export function metricsJson(pods: readonly PodSketch[]): Buffer {
  return Buffer.from(JSON.stringify({ resourceMetrics: pods.map(resourceOf) }))
}

export function metricsRequest(pods: readonly PodSketch[]): Buffer {
  return Buffer.from(protobufOfJson('metrics', metricsJson(pods)))
}

function resourceOf({ uid, container, cluster, service, metrics }: PodSketch): unknown {
  const facts = {
    'k8s.pod.uid': uid,
    'k8s.container.name': container,
    'k8s.cluster.name': cluster,
    'service.name': service,
  }
  return {
    resource: {
      attributes: Object.entries(facts).flatMap(([key, value]) =>
        value === undefined ? [] : [{ key, value: { stringValue: value } }],
      ),
    },
    scopeMetrics: [
      {
        scope: { name: 'kubeletstats' },
        metrics: Object.entries(metrics).map(([name, points]) => ({
          name,
          unit: '1',
          gauge: {
            dataPoints: points.map(([at, value]) => ({ timeUnixNano: nanosAfter(at), asDouble: value })),
          },
        })),
      },
    ],
  }
}
