import type { PodPoint } from '../../model/pod-stats.ts'
import { MIB } from '../../model/time-and-size.ts'
import { WriterTable } from './transactions.ts'

const MINUTE_MS = 60_000
/** How long points are held at most until a cascade writes their Pod; then points from before the write can still be kept. */
const WAIT_MS = 10 * MINUTE_MS
/** Points are kept from this long before the first write of a Pod in a cascade until AFTER_MS after the last one. */
const BEFORE_MS = 5 * MINUTE_MS
const AFTER_MS = 15 * MINUTE_MS
/** A point whose time differs more than this from its arrival has a wrong clock, and is dropped. */
const MAX_CLOCK_SKEW_MS = 60 * MINUTE_MS
/** The most bytes of held points. When most of it is used, points are held for a shorter time. */
const MOST_WAITING_BYTES = 64 * MIB
const CROWDED_BYTES = 48 * MIB
const POINTS_A_ROW = 100
const ROWS_A_STEP = 20
/** A step ends after the row with which it reaches this many points; a row has up to POINTS_A_ROW points for each of MOST_CASCADES. */
const PLACED_A_STEP = 2_000
/** A Pod's points are stored for this many of its cascades, the newest. */
const MOST_CASCADES = 16
const MOST_SERIES_A_POD = 64

/** `[metric, container, seconds, value]` by uid of the Pod, as in a row. */
export type WaitingPoints = Record<
  string,
  [metric: number, container: string, seconds: number, value: number][]
>

interface Row {
  readonly id: number
  readonly cluster: string
  readonly points: string
}

/** When a cascade first and last wrote a Pod. */
export interface WrittenPod {
  readonly first_ns: bigint
  readonly last_ns: bigint
}

interface Place extends WrittenPod {
  readonly trace: bigint
}

/** Whether a point is close enough to the writes of its Pod. */
export function isInWindow(seconds: number, { first_ns, last_ns }: WrittenPod): boolean {
  const from = Number(first_ns) / NS_PER_S - BEFORE_MS / MS_PER_S
  return seconds >= from && seconds <= Number(last_ns) / NS_PER_S + AFTER_MS / MS_PER_S
}

interface SeriesName {
  readonly metric: number
  readonly container: string
}

interface SeriesKey extends SeriesName {
  readonly trace: number
  readonly uid: string
}

/** The points that a step adds to the series of a Pod in a cascade, by `nameOf` the series. */
interface AddedSeries {
  readonly trace: number
  readonly uid: string
  readonly series: Map<string, SeriesName & { readonly points: SeriesPoint[] }>
}

function nameOf({ metric, container }: SeriesName): string {
  return `${metric} ${container}`
}

const NS_PER_S = 1e9
const MS_PER_S = 1_000

/** Points of Pods: first all are held for a while; then those are stored that are close to a cascade's writes of their Pod. */
export class PodPointTable extends WriterTable {
  readonly #hold = this.db.prepare(
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
  readonly #names = this.db.prepare<[number, string], SeriesName>(
    'SELECT metric, container FROM pod_series WHERE trace = ? AND uid = ?',
  )
  readonly #save = this.db.prepare(
    `INSERT INTO pod_series (trace, uid, metric, container, points) VALUES (@trace, @uid, @metric, @container, @points)
       ON CONFLICT DO UPDATE SET points = excluded.points`,
  )

  /** Holds points of one cluster until it is known whether a cascade wrote their Pods. Returns how many were dropped for lack of room. */
  hold(points: readonly PodPoint[], cluster: string): number {
    const { wallMs, activeMs } = this.progress
    for (let from = 0; from < points.length; from += POINTS_A_ROW) {
      if ((this.#bytes.get() ?? 0) >= MOST_WAITING_BYTES) return points.length - from
      const text = textOf(points.slice(from, from + POINTS_A_ROW), wallMs)
      if (text !== undefined) this.#hold.run({ activeMs, cluster, text })
    }
    return 0
  }

  /** Works outside transactions. */
  get areDue(): boolean {
    return this.#isDue.get(this.#dueMs) === 1
  }

  /** Decides about points that were held long enough, oldest first, until `mayGoOn` returns false. True if there may be more. */
  decide(mayGoOn: () => boolean): boolean {
    do {
      const decided = this.#keep(this.#oldest.all(this.#dueMs, ROWS_A_STEP))
      if (decided === undefined) return false
      this.#remove.run(decided)
    } while (mayGoOn())
    return this.areDue
  }

  get #dueMs(): number {
    const isCrowded = (this.#bytes.get() ?? 0) > CROWDED_BYTES
    return this.progress.activeMs - (isCrowded ? 0 : WAIT_MS)
  }

  /** Stores the points of as many rows as fit into a step. Returns the id of the last row. */
  #keep(rows: readonly Row[]): number | undefined {
    const found = new Map<string, AddedSeries>()
    let decided: number | undefined
    let placed = 0
    for (const { id, cluster, points } of rows) {
      if (placed >= PLACED_A_STEP) break
      decided = id
      for (const [uid, ofPod] of Object.entries(JSON.parse(points) as WaitingPoints)) {
        for (const place of this.#places.all(uid, { cluster })) {
          placed += ofPod.length
          const trace = Number(place.trace)
          const key = `${trace} ${uid}`
          const added: AddedSeries = found.get(key) ?? { trace, uid, series: new Map() }
          found.set(key, added)
          for (const [metric, container, seconds, value] of ofPod) {
            if (!isInWindow(seconds, place)) continue
            const name = nameOf({ metric, container })
            const series = added.series.get(name)
            if (series === undefined)
              added.series.set(name, { metric, container, points: [{ seconds, value }] })
            else series.points.push({ seconds, value })
          }
        }
      }
    }
    for (const added of found.values()) this.#add(added)
    return decided
  }

  #add({ trace, uid, series }: AddedSeries): void {
    const known = new Set(this.#names.all(trace, uid).map(nameOf))
    for (const [name, { metric, container, points }] of series) {
      if (!known.has(name) && known.size >= MOST_SERIES_A_POD) continue
      known.add(name)
      const key = { trace, uid, metric, container }
      const before = unpackSeries(this.#series.get(key))
      this.#save.run({ ...key, points: packSeries(thinned([...before, ...points])) })
    }
  }
}

/** The points of a row as text; undefined if all have wrong times. */
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
/** At most one point is stored per this many seconds. */
export const STEP_SECONDS = 10
export const MOST_POINTS = 240

/** Sorts points by time, with one per step. If there are too many, every other one is dropped until there are few enough. */
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
