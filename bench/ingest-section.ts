import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { startCauseway } from './causeway-process.ts'
import { percentile, type SectionResult } from './figures.ts'
import { freshDirectory } from './fresh-directory.ts'
import { HelperProcess } from './helper-process.ts'
import type { FromGenerator, SendOrder } from './messages.ts'
import type { Options } from './options.ts'
import { usageOf, watchCpu } from './process-usage.ts'
import { sizeRound } from './round-size.ts'

const MILLION = 1e6
const LONGEST_ROUND_MS = 300_000

/** Acknowledged, and so durable, spans a second, with nothing sent on. */
export async function benchIngest(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await ingestRound(options))
    onRound()
  }
  return {
    name: 'ingest',
    about: `${sizeRound(options).spans} spans a round over gRPC, ${options.inFlight} requests in flight, traces/out left out`,
    figures: {
      spansPerSecond: { label: 'acknowledged', unit: 'spans/s', digits: 0, target: { atLeast: 60_000 } },
      peakRssMib: { label: 'memory, highest', unit: 'MiB', digits: 0, target: { atMost: 300 } },
      ownMib: { label: 'of it its own, at the end', unit: 'MiB', digits: 0 },
      idleRssMib: { label: 'memory, before the first span', unit: 'MiB', digits: 0 },
      cpuPerMillion: { label: 'Causeway CPU', unit: 's/million spans', digits: 2 },
      threadPerMillion: { label: 'of it its busiest thread', unit: 's/million spans', digits: 2 },
      p50Ms: { label: 'reply, half within', unit: 'ms', digits: 1 },
      p99Ms: { label: 'reply, 99 % within', unit: 'ms', digits: 1 },
      unlinkedSpans: { label: 'not linked yet at the end', unit: 'spans', digits: 0 },
      diskBytesPerSpan: { label: 'on disk', unit: 'bytes/span', digits: 0 },
      generatorCores: { label: 'cores the generator used', unit: '', digits: 2 },
      othersCores: { label: 'cores other programs used', unit: '', digits: 2 },
    },
    rounds,
  }
}

async function ingestRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  const { requests, spans, cascades } = sizeRound(options)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const causeway = await startCauseway(options, directory.path)
  const before = usageOf(causeway.pid)
  const cpuUsed = watchCpu(causeway.pid)
  generator.tell({
    kind: 'send',
    endpoint: causeway.endpoint,
    requests,
    inFlight: options.inFlight,
    cascades,
  })
  const sent = await generator.hear('sent', LONGEST_ROUND_MS)
  const after = usageOf(causeway.pid)
  const cpu = cpuUsed()
  const unlinkedSpans = unlinked(causeway.path)
  await causeway.stop()

  const seconds = (sent.endedMs - sent.startedMs) / 1000
  return {
    spansPerSecond: spans / seconds,
    peakRssMib: after?.peakRssMib ?? Number.NaN,
    ownMib: after?.ownMib ?? Number.NaN,
    idleRssMib: before?.rssMib ?? Number.NaN,
    cpuPerMillion: (cpu.seconds / spans) * MILLION,
    threadPerMillion: (cpu.busiestThreadSeconds / spans) * MILLION,
    p50Ms: percentile(sent.latenciesMs, 0.5),
    p99Ms: percentile(sent.latenciesMs, 0.99),
    unlinkedSpans,
    diskBytesPerSpan: statSync(causeway.path).size / spans,
    generatorCores: sent.cpuSeconds / seconds,
    othersCores: Math.max(0, cpu.machineSeconds - cpu.seconds - sent.cpuSeconds) / seconds,
  }
}

function unlinked(path: string): number {
  const db = new Database(path, { readonly: true })
  try {
    const lag = db.prepare<[], number>('SELECT last_arrival - linked_arrival FROM progress').pluck().get()
    return lag ?? Number.NaN
  } finally {
    db.close()
  }
}
