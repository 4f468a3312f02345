import type { CascadeFacts, CausewayQueries, PodStats } from '../model/queries.ts'
import { POD_METRICS } from '../model/pod-stats.ts'
import type { PodStatsAnswer } from './pod-stats-schemas.ts'

const METRICS = new Map(POD_METRICS.map((metric) => [metric.id, metric]))
/** Where both are there, what is measured of a Pod says what its containers add up to. */
const WHOLE = new Set(['cpu', 'memory'])

/** What was measured of the Pods that a cascade wrote, one Pod at a time. */
export function* podStatsJson(
  queries: Pick<CausewayQueries, 'podStats'>,
  { root }: CascadeFacts,
  limit: number,
): Generator<string> {
  const { pods, leftOut } = queries.podStats(root, limit)
  yield `{"root":"${root}","truncated":${leftOut > 0},"leftOut":${leftOut},"pods":[`
  let isFirst = true
  for (const pod of pods) {
    yield (isFirst ? '' : ',') + JSON.stringify(podJson(pod))
    isFirst = false
  }
  yield ']}'
}

function podJson({ object, uid, cluster, series }: PodStats): PodStatsAnswer {
  const known = series.flatMap(({ metric, ...rest }) => {
    const of = METRICS.get(metric)
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
