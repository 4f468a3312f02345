import type {
  ConfigMap,
  Deployment,
  Draft,
  HorizontalPodAutoscaler,
  Node,
  Service,
} from './api/kube-objects.ts'
import { LOAD } from './controllers/metrics-server.ts'

const NAMESPACE = 'default'

/** What an operator would write in YAML. */
export function deployment(name: string, replicas: number, image = `${name}:1.0`): Draft<Deployment> {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'app', image }] } },
    },
    status: { observedGeneration: 0, replicas: 0, updatedReplicas: 0, readyReplicas: 0 },
  }
}

export function service(name: string): Draft<Service> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: NAMESPACE },
    spec: { selector: { app: name }, ports: [{ port: 80 }] },
  }
}

export function autoscaler(
  name: string,
  limits: { minReplicas: number; maxReplicas: number; averageValue: string },
): Draft<HorizontalPodAutoscaler> {
  const { averageValue, ...replicas } = limits
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name },
      ...replicas,
      metrics: [
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue } } },
      ],
    },
    status: { currentReplicas: 0, desiredReplicas: 0 },
  }
}

/** How much CPU the Pods of each app use together. */
export function load(data: Readonly<Record<string, string>>): Draft<ConfigMap> {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: LOAD, data }
}

export function node(number: number): Draft<Node> {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${number}`, namespace: '' },
    spec: { podCIDR: `10.${number}.0.0/16` },
  }
}
