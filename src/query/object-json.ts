import type { Cpid } from '../model/merge-graph.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import { POD_METRICS } from '../model/pod-stats.ts'
import type {
  CascadeFacts,
  CausewayQueries,
  CpidFacts,
  GraphAround,
  MergelogFacts,
  GraphNode as NodeFacts,
  ObjectActivity,
  ObjectVersionFacts,
  PodStats,
} from '../model/queries.ts'
import type { InferredWrite } from '../model/seen-write.ts'
import { rfc3339 } from '../model/time-and-size.ts'
import type { CpidFactsAnswer, GraphNode, Mergelog, Span } from './answer-schemas.ts'
import { commaSeparated } from './list-json.ts'
import type { ObjectEvent, ObjectVersion, PodStatsAnswer } from './object-answer-schemas.ts'

const REFERENCES_SHOWN = 128

/** An event of an object, as the API shows it. */
export function objectJson({
  object,
  cpid,
  action,
  timeNs,
  service,
  cluster,
  cascades,
  drivenBy,
}: Omit<ObjectActivity, 'position'>): ObjectEvent {
  return {
    object,
    cpid: cpid ?? null,
    action,
    timestamp: rfc3339(timeNs),
    service: service ?? null,
    cluster: cluster ?? null,
    cascades,
    drivenBy,
  }
}

/** A version of an object and who wrote it, as the API shows it. */
export function objectVersionJson(facts: Omit<ObjectVersionFacts, 'position'>): ObjectVersion {
  return {
    object: facts.object,
    timestamp: rfc3339(facts.timeNs),
    name: facts.name,
    spanId: spanIdHex(facts.spanId),
    service: facts.service,
    ...seenJson(facts.seen),
    reason: facts.reason ?? null,
    ...(facts.begins && { begins: true }),
    cluster: facts.cluster ?? null,
    cpid: facts.cpid ?? null,
    cascades: facts.cascades,
    drivenBy: facts.drivenBy,
    observed: facts.observed.slice(0, REFERENCES_SHOWN),
    ...(facts.changed.length > 0 && { changed: [...facts.changed] }),
    ...(facts.supersededBy !== undefined && { supersededBy: facts.supersededBy }),
  }
}

/** A CPID as the API shows it; unknown facts are null. */
export function cpidJson({ cpid, timeNs, sources, explained, service, object }: CpidFacts): CpidFactsAnswer {
  return {
    cpid,
    timestamp: timeNs === undefined ? null : rfc3339(timeNs),
    sources: sources ?? null,
    explained,
    service: service ?? null,
    object: object ?? null,
  }
}

export function mergelogJson({
  cpid,
  sources,
  timeNs,
  service,
  object,
  reason,
  cluster,
}: Omit<MergelogFacts, 'position'>): Mergelog {
  return {
    cpid,
    sources,
    timestamp: rfc3339(timeNs),
    service: service ?? null,
    object: object ?? null,
    reason: reason ?? null,
    cluster: cluster ?? null,
  }
}

export function* graphJson(cpid: Cpid, { nodes, edges, truncated }: GraphAround): Generator<string> {
  yield `{"cpid":"${cpid}","nodes":${JSON.stringify(nodes.map(nodeJson))},"truncated":${truncated},"edges":[`
  yield* commaSeparated(edges, (page) => page.map((edge) => JSON.stringify(edge)).join(','))
  yield ']}'
}

function nodeJson(node: NodeFacts): GraphNode {
  return {
    cpid: node.cpid,
    timestamp: node.timeNs === undefined ? null : rfc3339(node.timeNs),
    service: node.service ?? null,
    object: node.object ?? null,
    reason: node.reason ?? null,
    cluster: node.cluster ?? null,
    root: node.root,
    explained: node.explained,
    distance: node.distance,
    ...(node.supersededBy !== undefined && { supersededBy: node.supersededBy }),
  }
}

/** The fields of an observed write; none for other spans. */
export function seenJson(seen: InferredWrite | undefined): Pick<Span, 'user' | 'cause' | 'gap'> {
  if (seen === undefined) return {}
  const { user, cause, gap } = seen
  return { ...(user !== undefined && { user }), cause, ...(gap && { gap }) }
}

/** Metrics that are shown for the Pod alone if they are there for both Pod and containers: the Pod's value is the sum. */
const WHOLE = new Set(['cpu', 'memory'])

/** The metrics of the Pods that a cascade wrote, one Pod at a time. */
export function* podStatsJson(
  queries: Pick<CausewayQueries, 'podStats'>,
  { root }: CascadeFacts,
  limit: number,
): Generator<string> {
  const { pods, leftOut } = queries.podStats(root, limit)
  yield `{"root":"${root}","truncated":${leftOut > 0},"leftOut":${leftOut},"pods":[`
  yield* commaSeparated(pods, (pod) => JSON.stringify(podJson(pod)))
  yield ']}'
}

function podJson({ object, uid, cluster, series }: PodStats): PodStatsAnswer {
  const known = series.flatMap(({ metric, ...rest }) => {
    const of = POD_METRICS.find(({ id }) => id === metric)
    return of === undefined ? [] : [{ of, ...rest }]
  })
  const whole = new Set(known.flatMap(({ of, container }) => (container === '' ? [of.kind] : [])))
  return {
    ...{ object, uid, cluster },
    series: known
      .filter(({ of, container }) => container === '' || !WHOLE.has(of.kind) || !whole.has(of.kind))
      .map(({ of, container, points }) => ({
        ...{ metric: of.name, kind: of.kind, unit: of.unit, cumulative: of.isCumulative },
        container: container === '' ? null : container,
        points: points.map(({ seconds, value }) => ({ seconds, value })),
      })),
  }
}
