import type { Signal } from '../../src/model/otlp-requests.ts'
import {
  cpid,
  logsRequest,
  mergelogsRequest,
  spansRequest,
  type LogSketch,
  type MergelogSketch,
  type SpanSketch,
} from './otlp-requests.ts'

/** OTLP protobuf for one of Causeway's receivers. */
export interface OtlpRequest {
  signal: Signal
  bytes: Buffer
}

export interface RolloutPlan {
  /** Tells rollouts apart: CPIDs, traces and resource versions follow from it. */
  number: number
  /** When it begins, in milliseconds after START_NS. */
  atMs: number
  name: string
  pods: number
  /** How long pulling an image takes. */
  pullMs?: number
  cluster?: string
  /** Of the Deployment's change, the Service's, and both merged; else they follow from the number. */
  cpids?: [string, string, string]
  /** The mergelog of the EndpointSlice is lost on the way. */
  losesMergelog?: boolean
}

export interface Rollout {
  /** The change of the Deployment. */
  alpha: string
  /** The change of the Service, by someone else. */
  beta: string
  /** Both, merged in the EndpointSlice. */
  gamma: string
  requests: OtlpRequest[]
}

/** A Deployment is applied while its Service is: what every controller of a cluster would send of it. */
export function rollout(plan: RolloutPlan): Rollout {
  return new RolloutScript(plan).play()
}

interface Work {
  service: string
  name: string
  cpid: string
  from: number
  ms: number
  observed?: string[]
  wrote?: string[]
  /** Name, beginning after `from`, and duration. */
  steps?: (readonly [name: string, after: number, ms: number])[]
  failure?: string
  attributes?: Record<string, unknown>
}

class RolloutScript {
  readonly #plan: RolloutPlan
  readonly #spans = new Map<string, SpanSketch[]>()
  readonly #logs = new Map<string, LogSketch[]>()
  readonly #mergelogs = new Map<string, MergelogSketch[]>()
  #trace: number
  #version: number

  constructor(plan: RolloutPlan) {
    this.#plan = plan
    this.#trace = plan.number * 1_000
    this.#version = plan.number * 1_000
  }

  play(): Rollout {
    const { name, pods, pullMs = 900, cluster, losesMergelog = false } = this.#plan
    const [alpha, beta, gamma] = this.#cpids()
    const deployment = this.#object(`apps/v1/deployments/default/${name}`)
    const replicaSet = this.#object(`apps/v1/replicasets/default/${name}-7c9f6`)
    const service = this.#object(`v1/services/default/${name}`)

    this.#merge('kubectl', { new: beta, sources: [], time: -900, object: service, reason: 'kubectl apply' })
    this.#work({
      service: 'kubectl',
      name: 'kubectl apply -f service.yaml',
      cpid: beta,
      from: -900,
      ms: 61,
      wrote: [service],
      steps: [['create v1/services', 18, 40]],
    })
    this.#merge('kubectl', { new: alpha, sources: [], time: 0, object: deployment, reason: 'kubectl apply' })
    this.#log('kubectl', { cpid: alpha, body: `created apps/v1/deployments/default/${name}`, time: 80 })
    this.#work({
      service: 'kubectl',
      name: 'kubectl apply -f deployment.yaml',
      cpid: alpha,
      from: 0,
      ms: 84,
      wrote: [deployment],
      steps: [['create apps/v1/deployments', 24, 56]],
      attributes: { 'k8s.user': 'ada' },
    })
    this.#work({
      service: 'deployment-controller',
      name: 'reconcile Deployment',
      cpid: alpha,
      from: 96,
      ms: 64,
      observed: [deployment],
      wrote: [replicaSet],
      steps: [
        ['list apps/v1/replicasets', 2, 7],
        ['create apps/v1/replicasets', 24, 34],
      ],
    })

    const created = Array.from({ length: pods }, (_, at) =>
      this.#object(`v1/pods/default/${name}-7c9f6-${'bcdfghjklm'[at % 10]}${at}`),
    )
    this.#work({
      service: 'replicaset-controller',
      name: 'reconcile ReplicaSet',
      cpid: alpha,
      from: 175,
      ms: 30 + 26 * pods,
      observed: [replicaSet],
      wrote: created,
      steps: [
        ['list v1/pods', 3, 9],
        ...created.map((_pod, at) => ['create v1/pods', 22 + 26 * at, 22] as const),
      ],
    })
    let slice: string | undefined
    created.forEach((pod, at) => {
      const bound = this.#object(pod)
      const ready = this.#object(pod)
      const boundAt = 225 + 70 * at
      const runs = pullMs + 180 + 110 * at
      this.#work({
        service: 'scheduler',
        name: 'schedule Pod',
        cpid: alpha,
        from: boundAt,
        ms: 58,
        observed: [pod],
        wrote: [bound],
        steps: [
          ['score nodes', 3, 27],
          ['bind v1/pods', 34, 20],
        ],
      })
      this.#work({
        service: 'kubelet',
        name: 'sync Pod',
        cpid: alpha,
        from: boundAt + 76,
        ms: runs,
        observed: [bound],
        wrote: [ready],
        steps: [
          ['create sandbox', 8, 90],
          ['pull image', 104, pullMs + 60 * at],
          ['start container', 110 + pullMs + 60 * at, 44],
          ['update v1/pods', runs - 14, 12],
        ],
        ...(at === 1 && { failure: 'back-off 100ms: image not there yet' }),
      })
      this.#log('kubelet', {
        cpid: alpha,
        body: `started ${pod.split('?', 1)[0]}`,
        time: boundAt + 76 + runs,
      })
      const after = boundAt + 76 + runs + 40
      const next = this.#object(`discovery.k8s.io/v1/endpointslices/default/${name}-x2x`)
      this.#work({
        service: 'endpointslice-controller',
        name: 'reconcile EndpointSlice',
        cpid: gamma,
        from: after,
        ms: 46,
        observed: [ready, service, ...(slice === undefined ? [] : [slice])],
        wrote: [next],
        steps: [
          ['list v1/pods', 3, 8],
          ['update endpointslices', 26, 17],
        ],
      })
      if (slice === undefined && !losesMergelog) {
        this.#merge('endpointslice-controller', {
          new: gamma,
          sources: [alpha, beta],
          time: after + 24,
          object: next,
          reason: 'reconcile EndpointSlice',
        })
      }
      for (const node of [1, 2]) {
        this.#work({
          service: 'kube-proxy',
          name: `sync rules on node-${node}`,
          cpid: gamma,
          from: after + 52 + 9 * node,
          ms: 31,
          observed: [next],
        })
      }
      slice = next
    })
    return { alpha, beta, gamma, requests: this.#requests(cluster) }
  }

  #cpids(): [string, string, string] {
    const { number, cpids } = this.#plan
    return cpids ?? [cpid(number * 1_000 + 1), cpid(number * 1_000 + 2), cpid(number * 1_000 + 3)]
  }

  #object(reference: string): string {
    return `${reference.split('?', 1)[0]}?rv=${++this.#version}`
  }

  #work({ service, name, cpid, from, ms, observed, wrote, steps = [], failure, attributes }: Work): void {
    const trace = ++this.#trace
    const start = this.#plan.atMs + from
    const spans = listIn(this.#spans, service)
    spans.push({
      trace,
      id: trace * 100,
      name,
      cpid,
      start,
      end: start + ms,
      attributes: {
        ...attributes,
        ...(observed && { 'cpid.observed': observed }),
        ...(wrote && { 'cpid.wrote': wrote }),
      },
      ...(failure !== undefined && { status: 2, statusMessage: failure }),
    })
    steps.forEach(([step, after, takes], at) => {
      spans.push({
        trace,
        id: trace * 100 + at + 1,
        parent: trace * 100,
        name: step,
        start: start + after,
        end: start + after + takes,
      })
    })
  }

  #merge(service: string, mergelog: MergelogSketch & { time: number }): void {
    listIn(this.#mergelogs, service).push({ ...mergelog, time: this.#plan.atMs + mergelog.time })
  }

  #log(service: string, log: LogSketch & { time: number }): void {
    listIn(this.#logs, service).push({ ...log, time: this.#plan.atMs + log.time })
  }

  #requests(cluster: string | undefined): OtlpRequest[] {
    const logs = (bytes: Buffer): OtlpRequest => ({ signal: 'logs', bytes })
    return [
      ...[...this.#mergelogs].map(([service, list]) => logs(mergelogsRequest(service, list, cluster))),
      ...[...this.#spans].map(([service, list]): OtlpRequest => ({
        signal: 'traces',
        bytes: spansRequest(service, list, cluster),
      })),
      ...[...this.#logs].map(([service, list]) => logs(logsRequest(service, list, cluster))),
    ]
  }
}

function listIn<T>(lists: Map<string, T[]>, key: string): T[] {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  return list
}
