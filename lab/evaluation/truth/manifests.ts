/** What Pods of a Deployment and the like have beside their container. */
interface PodSpec {
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly tolerations?: readonly object[]
  readonly priorityClassName?: string
}

interface DeploymentChoice extends PodSpec {
  readonly replicas: number
  readonly cpu?: string
  readonly finalizers?: readonly string[]
}

const CONTAINER = 'c'

export function podSpec(image: string, { cpu = '100m', ...more }: PodSpec & { cpu?: string } = {}): object {
  const container = { name: CONTAINER, image, resources: { requests: { cpu } } }
  return { terminationGracePeriodSeconds: 1, containers: [container], ...more }
}

/** What a DaemonSet's or a Deployment's specification has in common. */
export function podsOf(app: string, spec: object): object {
  const labels = { app }
  return { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } }
}

export function deployment(name: string, { replicas, finalizers = [], ...spec }: DeploymentChoice): object {
  return {
    metadata: { name, labels: { app: name }, finalizers },
    spec: { replicas, ...podsOf(name, podSpec('i:1', spec)) },
  }
}

export function service(name: string): object {
  return { metadata: { name }, spec: { selector: { app: name }, ports: [{ port: 80 }] } }
}

export function node(name: string, labels: Record<string, string> = {}, room: object = {}): object {
  const capacity = { cpu: '32', memory: '256Gi', pods: '110', ...room }
  const all = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels }
  return { metadata: { name, labels: all }, status: { allocatable: capacity, capacity } }
}

/** A strategic patch of a Deployment. */
export function withImage(image: string): object {
  return { spec: { template: { spec: { containers: [{ name: CONTAINER, image }] } } } }
}

export const withReplicas = (replicas: number): object => ({ spec: { replicas } })
export const withLabels = (labels: Record<string, string | null>): object => ({ metadata: { labels } })
export const going = (propagationPolicy: 'Background' | 'Foreground' | 'Orphan'): object => ({
  propagationPolicy,
})
