import type { SpanRows } from '../cascade/span-rows.ts'
import { colourIndex } from '../parts/service-colour.ts'
import { objectName } from '../text/object-name.ts'
import { flagsOf } from './flame-lanes.ts'
import { HOLLOW, timelineModel, type LaneGroup, type TimelineModel } from './timeline-model.ts'

const MAX_LANES = 6

/** What a cascade did to one object. */
export interface ObjectWork {
  /** The reference without uid and resourceVersion. */
  object: string
  /** Positions of the spans that wrote it, and of those that only observed it. */
  wrote: number[]
  observed: number[]
  firstMs: number
  lastMs: number
}

/** The objects that spans wrote or observed, in order of their first activity. */
export function objectWork({ spans }: SpanRows): ObjectWork[] {
  const byObject = new Map<string, ObjectWork>()
  const workOn = (reference: string, offsetMs: number, durationMs: number): ObjectWork => {
    const object = objectName(reference).reference
    let work = byObject.get(object)
    if (work === undefined) {
      work = { object, wrote: [], observed: [], firstMs: Infinity, lastMs: -Infinity }
      byObject.set(object, work)
    }
    work.firstMs = Math.min(work.firstMs, offsetMs)
    work.lastMs = Math.max(work.lastMs, offsetMs + durationMs)
    return work
  }
  spans.forEach(({ wrote = [], observed = [], offsetMs, durationMs }, at) => {
    for (const reference of wrote) addOnce(workOn(reference, offsetMs, durationMs).wrote, at)
    for (const reference of observed) {
      const work = workOn(reference, offsetMs, durationMs)
      if (work.wrote.at(-1) !== at) addOnce(work.observed, at)
    }
  })
  return [...byObject.values()].sort((a, b) => a.firstMs - b.firstMs || (a.object < b.object ? -1 : 1))
}

function addOnce(list: number[], at: number): void {
  if (list.at(-1) !== at) list.push(at)
}

/** The Gantt chart: for each object the spans that wrote it, filled, and those that observed it, as outlines. */
export function objectModel(rows: SpanRows, work: readonly ObjectWork[]): TimelineModel {
  const span: number[] = []
  const lane: number[] = []
  const hollow: boolean[] = []
  const groups: LaneGroup[] = []
  let laneCount = 0
  for (const { object, wrote, observed } of work) {
    const { resource, name } = objectName(object)
    const put = inLanes(rows, [...wrote, ...observed])
    const takes = put.reduce((most, at) => Math.max(most, at + 1), 1)
    groups.push({ firstLane: laneCount, laneCount: takes, label: `${resource} ${name}`.trim() })
    for (const [index, at] of [...wrote, ...observed].entries()) {
      span.push(at)
      lane.push(laneCount + (put[index] ?? 0))
      hollow.push(index >= wrote.length)
    }
    laneCount += takes
  }
  const of = (box: number) => rows.spans[span[box] ?? 0]
  return timelineModel({
    count: span.length,
    start: Float64Array.from(span, (_at, box) => of(box)?.offsetMs ?? 0),
    end: Float64Array.from(span, (_at, box) => (of(box)?.offsetMs ?? 0) + (of(box)?.durationMs ?? 0)),
    lane: Int32Array.from(lane),
    laneCount,
    colour: Uint8Array.from(span, (_at, box) => colourIndex(of(box)?.service ?? '')),
    flags: Uint16Array.from(span, (_at, box) => {
      const one = of(box)
      return (
        (one === undefined ? 0 : flagsOf(one, one.durationMs === 0)) | (hollow[box] === true ? HOLLOW : 0)
      )
    }),
    reach: new Float64Array(span.length),
    span: Int32Array.from(span),
    groups,
  })
}

/** Assigns the spans to lanes, so that few overlap. */
function inLanes({ spans }: SpanRows, positions: readonly number[]): number[] {
  const put = new Array<number>(positions.length).fill(0)
  const freeFrom: number[] = []
  const startOf = (index: number) => spans[positions[index] ?? 0]?.offsetMs ?? 0
  const inTime = positions.map((_at, index) => index).sort((a, b) => startOf(a) - startOf(b))
  for (const index of inTime) {
    const fromMs = startOf(index)
    let at = freeFrom.findIndex((freeMs) => freeMs <= fromMs)
    if (at === -1) at = freeFrom.length < MAX_LANES ? freeFrom.length : 0
    freeFrom[at] = fromMs + (spans[positions[index] ?? 0]?.durationMs ?? 0)
    put[index] = at
  }
  return put
}
