import type { PodPoint } from '../../model/pod-stats.ts'
import { MIB } from '../../model/time-and-size.ts'
import { WriterTable } from './transactions.ts'

const MINUTE_MS = 60_000
/** So long points wait for the cascade of their Pod, at most; and those before a write of it can still be kept. */
const WAIT_MS = 10 * MINUTE_MS
/** Kept are points from so long before the first write of a Pod in a cascade to so long after the last. */
const BEFORE_MS = 5 * MINUTE_MS
const AFTER_MS = 15 * MINUTE_MS
/** A point of another time than this about when it comes is of a wrong clock. */
const MAX_CLOCK_SKEW_MS = 60 * MINUTE_MS
/** Together points that wait take no more room; they wait less long when they take most of it. */
const MOST_WAITING_BYTES = 64 * MIB
const CROWDED_BYTES = 48 * MIB
const POINTS_A_ROW = 2_000
const ROWS_A_STEP = 20
/** A Pod's points go to so many of its cascades, the newest. */
const MOST_CASCADES = 16
const MOST_SERIES_A_POD = 64

/** `[metric, container, seconds, value]` of each Pod by its UID, as a row keeps them. */
export type WaitingPoints = Record<
  string,
  [metric: number, container: string, seconds: number, value: number][]
>

interface Row {
  readonly id: number
  readonly cluster: string
  readonly points: string
}

/** When a cascade wrote a Pod. */
export interface WrittenPod {
  readonly first_ns: bigint
  readonly last_ns: bigint
}

interface Place extends WrittenPod {
  readonly trace: bigint
}

/** Whether a point is near enough to when its Pod was written. */
export function isInWindow(seconds: number, { first_ns, last_ns }: WrittenPod): boolean {
  const from = Number(first_ns) / NS_PER_S - BEFORE_MS / MS_PER_S
  return seconds >= from && seconds <= Number(last_ns) / NS_PER_S + AFTER_MS / MS_PER_S
}

interface SeriesKey {
  readonly trace: number
  readonly uid: string
  readonly metric: number
  readonly container: string
}

const NS_PER_S = 1e9
const MS_PER_S = 1_000

/** Points of Pods: first all of them for a while, then those about Pods that a cascade wrote, around the time when it did. */
export class PodPointTable extends WriterTable {
  readonly #add = this.db.prepare(
    `INSERT INTO waiting_pod_points (arrived_ms, cluster, upto_bytes, points) SELECT @activeMs, @cluster,
         coalesce((SELECT upto_bytes FROM waiting_pod_points ORDER BY id DESC LIMIT 1), 0) + length(@text), @text`,
  )
  readonly #bytes = this.column<[], number>(
    `SELECT (SELECT upto_bytes FROM waiting_pod_points ORDER BY id DESC LIMIT 1) - upto_bytes + length(points)
       FROM waiting_pod_points ORDER BY id LIMIT 1`,
  )
  readonly #oldest = this.db.prepare<[number, number], Row>(
    'SELECT id, cluster, points FROM waiting_pod_points WHERE arrived_ms <= +? ORDER BY id LIMIT +?',
  )
  readonly #isDue = this.column<[number], number>(
    'SELECT arrived_ms <= ? FROM (SELECT arrived_ms FROM waiting_pod_points ORDER BY id LIMIT 1)',
  )
  readonly #remove = this.db.prepare<[number]>('DELETE FROM waiting_pod_points WHERE id <= ?')
  readonly #places = this.exactRows<[string, { cluster: string }], Place>(
    `SELECT trace, first_ns, last_ns FROM cascade_pods
       WHERE uid = ? AND (@cluster = '' OR cluster = @cluster) ORDER BY trace DESC LIMIT ${MOST_CASCADES}`,
  )
  readonly #series = this.column<[SeriesKey], Buffer>(
    'SELECT points FROM pod_series WHERE trace = @trace AND uid = @uid AND metric = @metric AND container = @container',
  )
  readonly #count = this.column<[number, string], number>(
    'SELECT count(*) FROM pod_series WHERE trace = ? AND uid = ?',
  )
  readonly #save = this.db.prepare(
    `INSERT INTO pod_series (trace, uid, metric, container, points) VALUES (@trace, @uid, @metric, @container, @points)
       ON CONFLICT DO UPDATE SET points = excluded.points`,
  )

  /** Keeps points, all of one cluster, until it is known whether a cascade wrote their Pods. Returns how many had no room. */
  hold(points: readonly PodPoint[], cluster: string): number {
    const { wallMs, activeMs } = this.progress
    for (let from = 0; from < points.length; from += POINTS_A_ROW) {
      if ((this.#bytes.get() ?? 0) >= MOST_WAITING_BYTES) return points.length - from
      const text = textOf(points.slice(from, from + POINTS_A_ROW), wallMs)
      if (text !== undefined) this.#add.run({ activeMs, cluster, text })
    }
    return 0
  }

  /** Needs no transaction. */
  get areDue(): boolean {
    return this.#isDue.get(this.#dueMs) === 1
  }

  /** Decides about those that waited long enough, oldest first, until `mayGoOn` returns false; true if there may be more. */
  decide(mayGoOn: () => boolean): boolean {
    do {
      const rows = this.#oldest.all(this.#dueMs, ROWS_A_STEP)
      const last = rows.at(-1)
      if (last === undefined) return false
      this.#keep(rows)
      this.#remove.run(last.id)
    } while (mayGoOn())
    return this.areDue
  }

  get #dueMs(): number {
    const isCrowded = (this.#bytes.get() ?? 0) > CROWDED_BYTES
    return this.progress.activeMs - (isCrowded ? 0 : WAIT_MS)
  }

  #keep(rows: readonly Row[]): void {
    const found = new Map<string, { key: SeriesKey; points: SeriesPoint[] }>()
    for (const { cluster, points } of rows) {
      for (const [uid, ofPod] of Object.entries(JSON.parse(points) as WaitingPoints)) {
        for (const place of this.#places.all(uid, { cluster })) {
          for (const [metric, container, seconds, value] of ofPod) {
            if (!isInWindow(seconds, place)) continue
            const key = { trace: Number(place.trace), uid, metric, container }
            const name = JSON.stringify([key.trace, uid, metric, container])
            const series = found.get(name)
            if (series === undefined) found.set(name, { key, points: [{ seconds, value }] })
            else series.points.push({ seconds, value })
          }
        }
      }
    }
    for (const { key, points } of found.values()) this.#addTo(key, points)
  }

  #addTo(key: SeriesKey, points: readonly SeriesPoint[]): void {
    const before = this.#series.get(key)
    if (before === undefined && (this.#count.get(key.trace, key.uid) ?? 0) >= MOST_SERIES_A_POD) return
    this.#save.run({ ...key, points: packSeries(thinned([...unpackSeries(before), ...points])) })
  }
}

/** The points of a row; undefined where none of them is of about now. */
function textOf(points: readonly PodPoint[], wallMs: number): string | undefined {
  const byPod = new Map<string, WaitingPoints[string]>()
  for (const { uid, container, metric, timeMs, value } of points) {
    const atMs = timeMs === 0 ? wallMs : timeMs
    if (Math.abs(atMs - wallMs) > MAX_CLOCK_SKEW_MS) continue
    const point: WaitingPoints[string][number] = [metric, container, Math.trunc(atMs / MS_PER_S), value]
    const known = byPod.get(uid)
    if (known === undefined) byPod.set(uid, [point])
    else known.push(point)
  }
  return byPod.size === 0 ? undefined : JSON.stringify(Object.fromEntries(byPod))
}

export interface SeriesPoint {
  /** Unix time. */
  readonly seconds: number
  readonly value: number
}

const POINT_BYTES = 12
const VALUE_AT = 4
/** One point is kept of so many seconds. */
export const STEP_SECONDS = 10
export const MOST_POINTS = 240

/** In the order of time, one a step; of too many every other goes, until there are few enough. */
export function thinned(points: readonly SeriesPoint[]): SeriesPoint[] {
  const byStep = new Map<number, SeriesPoint>()
  for (const point of points) {
    const step = Math.floor(point.seconds / STEP_SECONDS)
    if (!byStep.has(step)) byStep.set(step, point)
  }
  let kept = [...byStep.values()].sort((one, other) => one.seconds - other.seconds)
  while (kept.length > MOST_POINTS) kept = kept.filter((_, at) => at % 2 === 0)
  return kept
}

function packSeries(points: readonly SeriesPoint[]): Buffer {
  const packed = Buffer.alloc(points.length * POINT_BYTES)
  points.forEach(({ seconds, value }, at) => {
    packed.writeUInt32LE(seconds, at * POINT_BYTES)
    packed.writeDoubleLE(value, at * POINT_BYTES + VALUE_AT)
  })
  return packed
}

export function unpackSeries(packed: Buffer = Buffer.alloc(0)): SeriesPoint[] {
  const points: SeriesPoint[] = []
  for (let at = 0; at + POINT_BYTES <= packed.length; at += POINT_BYTES)
    points.push({ seconds: packed.readUInt32LE(at), value: packed.readDoubleLE(at + VALUE_AT) })
  return points
}
