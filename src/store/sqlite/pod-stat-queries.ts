import type { PodSeriesFacts, PodStats, PodStatsFound } from '../../model/queries.ts'
import {
  isInWindow,
  type SeriesPoint,
  thinned,
  unpackSeries,
  type WaitingPoints,
  type WrittenPod,
} from './pod-points.ts'
import { RecordReader } from './record-queries.ts'

interface PodRow extends WrittenPod {
  readonly trace: bigint
  readonly uid: string
  readonly cluster: string
  readonly object: string
}

interface SeriesRow {
  readonly metric: number
  readonly container: string
  readonly points: Buffer
}

interface WaitingRow {
  readonly cluster: string
  readonly points: string
}

/** Those with a root. */
const CASCADES = '(SELECT DISTINCT coalesce(continues, id) FROM traces WHERE root = +?)'

/** From here on it is faster to read a row than to look whether each Pod is in it. */
const MANY_PODS = 4

/** Reads what was measured of the Pods of a cascade: what is kept of them, and what still waits to be. */
export class PodStatReader extends RecordReader {
  readonly #pods = this.exactRows<[number, number], PodRow>(
    `SELECT trace, uid, cluster, object, first_ns, last_ns FROM cascade_pods
       WHERE trace IN ${CASCADES} ORDER BY first_ns, uid LIMIT +?`,
  )
  readonly #count = this.column<[number], number>(
    `SELECT count(*) FROM cascade_pods WHERE trace IN ${CASCADES}`,
  )
  readonly #series = this.db.prepare<[bigint, string], SeriesRow>(
    'SELECT metric, container, points FROM pod_series WHERE trace = ? AND uid = ?',
  )
  readonly #waiting = this.db.prepare<[], WaitingRow>(
    'SELECT cluster, points FROM waiting_pod_points ORDER BY id',
  )

  /** The metrics of Pods in the cascade of a root. */
  of(root: number, limit: number): PodStatsFound {
    const rows = this.#pods.all(root, limit)
    const waiting = this.#waitingOf(rows)
    const pods = rows.map((row): PodStats => {
      const series = new Map<string, PodSeriesFacts & { points: SeriesPoint[] }>()
      for (const { metric, container, points } of this.#series.all(row.trace, row.uid))
        series.set(`${metric} ${container}`, { metric, container, points: unpackSeries(points) })
      for (const [metric, container, seconds, value] of waiting.get(row.uid) ?? []) {
        if (!isInWindow(seconds, row)) continue
        const key = `${metric} ${container}`
        const known = series.get(key) ?? { metric, container, points: [] }
        known.points.push({ seconds, value })
        series.set(key, known)
      }
      const { object, uid, cluster } = row
      const found = [...series.values()].sort(
        (one, other) => one.metric - other.metric || (one.container < other.container ? -1 : 1),
      )
      return {
        ...{ object, uid, cluster },
        series: found.map((one) => ({ ...one, points: thinned(one.points) })),
      }
    })
    return { pods, leftOut: Math.max(0, (this.#count.get(root) ?? 0) - rows.length) }
  }

  #waitingOf(rows: readonly PodRow[]): Map<string, WaitingPoints[string]> {
    const clusters = new Map(rows.map(({ uid, cluster }) => [uid, cluster]))
    const found = new Map<string, WaitingPoints[string]>()
    if (rows.length === 0) return found
    const mayHold = (text: string): boolean =>
      clusters.size > MANY_PODS || [...clusters.keys()].some((uid) => text.includes(uid))
    for (const { cluster, points } of this.#waiting.iterate()) {
      this.read.add(points.length)
      if (!mayHold(points)) continue
      for (const [uid, more] of Object.entries(JSON.parse(points) as WaitingPoints)) {
        const of = clusters.get(uid)
        if (of === undefined || (cluster !== '' && cluster !== of)) continue
        const known = found.get(uid)
        if (known === undefined) found.set(uid, more)
        else known.push(...more)
      }
    }
    return found
  }
}
