import { attributeTexts } from './any-value-text.ts'
import { type RequestItem } from './request-walk.ts'
import {
  allBytes,
  lastBits,
  lastBytes,
  lastInt,
  lastText,
  type WireField,
  wireFields,
} from './wire-fields.ts'

const SUM = 7
const HISTOGRAM = 9

/** One of Causeway's own metrics on one line: name, unit, how many points. */
export function metricLine({ item }: RequestItem): string {
  return `${lastText(item, 1)} ${lastText(item, 3)} points=${pointsOf(item).length}`
}

/** One of Causeway's own metrics with its points, one a line. */
export function metricLines({ item }: RequestItem): string[] {
  return [
    `Metric ${metricLine({ resource: [], scope: [], item })}`,
    ...pointsOf(item).map((text) => `    ${text}`),
  ]
}

function pointsOf(item: readonly WireField[]): string[] {
  const points = (no: number): WireField[][] =>
    allBytes(wireFields(lastBytes(item, no)), 1).map((point) => wireFields(point))
  return [
    ...points(SUM).map((point) => [...attributeTexts(point, 7), `value=${lastInt(point, 6)}`].join(' ')),
    ...points(HISTOGRAM).map((point) => {
      const [sum] = new Float64Array(new BigUint64Array([lastBits(point, 5)]).buffer)
      return [...attributeTexts(point, 9), `count=${lastInt(point, 4)}`, `sum=${sum}`].join(' ')
    }),
  ]
}
