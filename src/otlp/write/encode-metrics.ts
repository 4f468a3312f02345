import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { HistogramSeries } from '../../model/cascade-figures.ts'
import { nanosOfMs } from '../../model/clock.ts'
import { encodeAttribute } from './encode-span.ts'
import { scopeEnvelope } from './own-envelopes.ts'

/** A metric of Causeway's own making; everything is counted from the start of the process (cumulative). */
export type OwnMetric = { name: string; description: string; unit: string } & (
  | { kind: 'sum'; value: number }
  | {
      kind: 'histogram'
      labelNames: readonly string[]
      bounds: readonly number[]
      series: readonly HistogramSeries[]
    }
)

export interface MetricTimes {
  startMs: number
  nowMs: number
}

const CUMULATIVE = 2

/** An ExportMetricsServiceRequest of Causeway's own metrics, under its resource attributes. */
export function encodeMetrics(
  resource: Readonly<Record<string, string>>,
  metrics: readonly OwnMetric[],
  times: MetricTimes,
): Buffer {
  const attributes = message((to) => {
    for (const [key, value] of Object.entries(resource)) bytes(to, 1, encodeAttribute(key, value))
  })
  const scoped = message((to) => {
    to.raw(scopeEnvelope('causeway'))
    for (const metric of metrics) bytes(to, 2, encodeMetric(metric, times))
  })
  const group = message((to) => bytes(bytes(to, 1, attributes), 2, scoped))
  return Buffer.from(message((to) => bytes(to, 1, group)))
}

/** How many points the metrics hold. */
export function countPoints(metrics: readonly OwnMetric[]): number {
  return metrics.reduce((sum, metric) => sum + (metric.kind === 'sum' ? 1 : metric.series.length), 0)
}

function encodeMetric(metric: OwnMetric, times: MetricTimes): Uint8Array {
  return message((to) => {
    to.tag(1, WireType.LengthDelimited).string(metric.name)
    to.tag(2, WireType.LengthDelimited).string(metric.description)
    to.tag(3, WireType.LengthDelimited).string(metric.unit)
    if (metric.kind === 'sum') bytes(to, 7, encodeSum(metric.value, times))
    else bytes(to, 9, encodeHistogram(metric, times))
  })
}

function encodeSum(value: number, times: MetricTimes): Uint8Array {
  const point = message((to) => {
    writeTimes(to, times)
    to.tag(6, WireType.Bit64).sfixed64(BigInt(value))
  })
  return message((to) => {
    bytes(to, 1, point)
    to.tag(2, WireType.Varint).int32(CUMULATIVE)
    to.tag(3, WireType.Varint).bool(true)
  })
}

function encodeHistogram(metric: OwnMetric & { kind: 'histogram' }, times: MetricTimes): Uint8Array {
  return message((to) => {
    for (const series of metric.series) bytes(to, 1, encodePoint(metric, series, times))
    to.tag(2, WireType.Varint).int32(CUMULATIVE)
  })
}

function encodePoint(
  { labelNames, bounds }: OwnMetric & { kind: 'histogram' },
  { labels, counts, sum, exemplars }: HistogramSeries,
  times: MetricTimes,
): Uint8Array {
  return message((to) => {
    labelNames.forEach((name, at) => bytes(to, 9, encodeAttribute(name, labels[at] ?? '')))
    writeTimes(to, times)
    const total = counts.reduce((all, count) => all + count, 0)
    to.tag(4, WireType.Bit64).fixed64(BigInt(total))
    to.tag(5, WireType.Bit64).double(sum)
    to.tag(6, WireType.LengthDelimited).fork()
    for (const count of counts) to.fixed64(BigInt(count))
    to.join().tag(7, WireType.LengthDelimited).fork()
    for (const bound of bounds) to.double(bound)
    to.join()
    for (const exemplar of exemplars) {
      if (exemplar === undefined) continue
      const { value, timeMs, traceId, spanId } = exemplar
      const encoded = message((inner) => {
        inner.tag(2, WireType.Bit64).fixed64(nanosOfMs(timeMs))
        inner.tag(3, WireType.Bit64).double(value)
        bytes(inner, 4, Buffer.from(spanId, 'hex'))
        bytes(inner, 5, Buffer.from(traceId, 'hex'))
      })
      bytes(to, 8, encoded)
    }
  })
}

function writeTimes(to: BinaryWriter, { startMs, nowMs }: MetricTimes): void {
  to.tag(2, WireType.Bit64).fixed64(nanosOfMs(startMs))
  to.tag(3, WireType.Bit64).fixed64(nanosOfMs(nowMs))
}

function message(write: (to: BinaryWriter) => unknown): Uint8Array {
  const writer = new BinaryWriter()
  write(writer)
  return writer.finish()
}

function bytes(to: BinaryWriter, no: number, contents: Uint8Array): BinaryWriter {
  return to.tag(no, WireType.LengthDelimited).bytes(contents)
}
