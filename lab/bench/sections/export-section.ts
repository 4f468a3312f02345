import { setTimeout as sleep } from 'node:timers/promises'
import { startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import type { SectionResult } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { FromGenerator, FromSink, SendOrder, ToSink } from '../load/messages.ts'
import type { Options } from '../options.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'

const MILLION = 1e6
const LONGEST_ROUND_MS = 300_000
/** How long the sink is watched for spans too many. */
const QUIET_MS = 500

/** Spans a second that linking has to give, and an archive to take. */
export const LINKED_PER_SECOND = 25_000

/** From the first request until the backend has every span. */
export async function benchExport(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await exportRound(options))
    onRound()
  }
  return {
    name: 'ingest-link-export',
    about: `${sizeRound(options).spans} spans a round, each linked and sent on once over gRPC (${options.compression})`,
    figures: {
      spansPerSecond: {
        label: 'at the backend',
        unit: 'spans/s',
        digits: 0,
        target: { atLeast: LINKED_PER_SECOND },
      },
      seconds: { label: 'until the backend has all', unit: 's', digits: 1 },
      acknowledgedSeconds: { label: 'until all are acknowledged', unit: 's', digits: 1 },
      peakRssMib: { label: 'memory, highest', unit: 'MiB', digits: 0 },
      cpuPerMillion: { label: 'Causeway CPU', unit: 's/million spans', digits: 2 },
      threadPerMillion: { label: 'of it its busiest thread', unit: 's/million spans', digits: 2 },
      sentBytesPerSpan: { label: 'sent on, uncompressed', unit: 'bytes/span', digits: 0 },
      helperCores: { label: 'cores generator and sink used', unit: '', digits: 2 },
      othersCores: { label: 'cores other programs used', unit: '', digits: 2 },
    },
    rounds,
  }
}

/**
 * From the first request until a sink has every span. Throws when that has not received exactly what was sent: every span once,
 * and each CPID's change span.
 */
export async function exportRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  const { requests, spans, cascades, cpids } = sizeRound(options)
  const expected = spans + cpids
  using sink = new HelperProcess<ToSink, FromSink>('sink.ts')
  const { port } = await sink.hear('ready')
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const causeway = await startMeasuredCauseway(options, directory.path, port)
  const cpuUsed = watchCpu(causeway.pid)
  sink.tell({ kind: 'expect', spans: expected })
  generator.tell({
    kind: 'send',
    endpoint: causeway.endpoint,
    requests,
    inFlight: options.inFlight,
    cascades,
  })
  const [sent, reached] = await Promise.all([
    generator.hear('sent', LONGEST_ROUND_MS),
    sink.hear('reached', LONGEST_ROUND_MS),
  ])
  const after = usageOf(causeway.pid)
  const cpu = cpuUsed()
  await sleep(QUIET_MS)
  sink.tell({ kind: 'count' })
  const counted = await sink.hear('counted')
  await causeway.stop()
  if (counted.spans !== expected)
    throw new Error(`the sink received ${counted.spans} spans instead of ${expected}`)

  const seconds = (reached.atMs - sent.startedMs) / 1000
  const helpers = sent.cpuSeconds + counted.cpuSeconds
  return {
    spansPerSecond: spans / seconds,
    seconds,
    acknowledgedSeconds: (sent.endedMs - sent.startedMs) / 1000,
    peakRssMib: after?.peakRssMib ?? Number.NaN,
    cpuPerMillion: (cpu.seconds / spans) * MILLION,
    threadPerMillion: (cpu.busiestThreadSeconds / spans) * MILLION,
    sentBytesPerSpan: counted.bytes / counted.spans,
    helperCores: helpers / seconds,
    othersCores: Math.max(0, cpu.machineSeconds - cpu.seconds - helpers) / seconds,
  }
}
