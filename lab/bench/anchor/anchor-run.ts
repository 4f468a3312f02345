import { setTimeout as pause } from 'node:timers/promises'
import { HelperProcess } from '../load/helper-process.ts'
import type { MeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import type { AnchorOrder, FromAnchor, FromAnchorSink, ToAnchorSink } from './messages.ts'
import { ProcessSamples, type Sample } from './process-samples.ts'
import { SPANS_PER_CHANGE } from './steps.ts'

const LONGEST_MS = 4 * 3_600_000
/** How long the sink is watched for spans too many. */
const QUIET_MS = 1_000

export interface AnchorRun {
  sent: Extract<FromAnchor, { kind: 'sent' }>
  counted: Extract<FromAnchorSink, { kind: 'counted' }>
  reachedMs: number
  samples: Sample[]
  spans: number
  cpuSeconds: number
  peakRssMib: number
}

/** Sends what the order says to a Causeway; throws unless every span reached the sink exactly once, copies aside. */
export async function runAnchor(
  causeway: MeasuredCauseway,
  sink: HelperProcess<ToAnchorSink, FromAnchorSink>,
  order: Omit<AnchorOrder, 'kind' | 'endpoint'>,
): Promise<AnchorRun> {
  using generator = new HelperProcess<AnchorOrder, FromAnchor>('../anchor/generator.ts')
  await generator.hear('ready')
  const spans = order.seconds * order.changesPerSecond * SPANS_PER_CHANGE
  const { keepsTimes } = order
  sink.tell({ kind: 'expect', firstSpan: order.firstChange * SPANS_PER_CHANGE, spans, keepsTimes })
  const cpuUsed = watchCpu(causeway.pid)
  using watched = new ProcessSamples(causeway.pid, causeway.path)
  generator.tell({ kind: 'send', endpoint: causeway.endpoint, ...order })
  const [sent, reached] = await Promise.all([
    generator.hear('sent', LONGEST_MS),
    sink.hear('reached', LONGEST_MS),
  ])
  const cpu = cpuUsed()
  const { samples } = watched
  await pause(QUIET_MS)
  sink.tell({ kind: 'count' })
  const counted = await sink.hear('counted')
  if (counted.came !== spans || counted.repeated > 0)
    throw new Error(
      `of ${spans} spans ${counted.came} came to the sink, ${counted.repeated} of them more than once`,
    )
  return {
    sent,
    counted,
    reachedMs: reached.atMs,
    samples,
    spans,
    cpuSeconds: cpu.seconds,
    peakRssMib: usageOf(causeway.pid)?.peakRssMib ?? Number.NaN,
  }
}
