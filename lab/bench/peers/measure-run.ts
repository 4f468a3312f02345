import { setTimeout as sleep } from 'node:timers/promises'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { percentile } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { FromGenerator, FromSink, SendOrder, ToSink } from '../load/messages.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'
import { LOAD, type LoadName } from './loads.ts'
import type { PeersOptions } from './options.ts'
import type { Run } from './peers-data.ts'
import type { ProgramName } from './programs.ts'
import { type Installed, startProgram } from './start-program.ts'

const MILLION = 1e6
const LONGEST_ROUND_MS = 300_000
const LOOK_AGAIN_MS = 100

/** One program under one load, from an empty folder. */
export async function measureRun(
  program: ProgramName,
  load: LoadName,
  options: PeersOptions,
  installed: Installed,
): Promise<Run> {
  using directory = freshDirectory(options.directory)
  const { protocol, spansPerRequest, inFlight } = LOAD[load]
  const { requests, cascades, cpids } = sizeRound(options, spansPerRequest)
  const isCauseway = program === 'causeway' || program === 'causeway-export'
  const sendsOn = program !== 'causeway' && program !== 'jaeger'
  using sink = new HelperProcess<ToSink, FromSink>('sink.ts')
  const { port } = await sink.hear('ready')
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const places = { installed, directory: directory.path, sink: port }
  const running = await startProgram(program, options, places)
  try {
    const watchedMs = performance.now()
    const cpuUsed = watchCpu(running.pid)
    const sinkUsed = watchCpu(sink.pid)
    generator.tell({
      kind: 'send',
      endpoint: protocol === 'grpc' ? running.grpc : running.http,
      protocol,
      spansPerRequest,
      requests,
      inFlight,
      cascades,
      withoutMergelogs: !isCauseway,
      atMostMs: options.seconds * 1000,
    })
    const sent = await generator.hear('sent', LONGEST_ROUND_MS)
    const cpuSending = cpuUsed()
    const helpers = sent.cpuSeconds + sinkUsed().seconds
    const watched = (performance.now() - watchedMs) / 1000
    const deadlineMs = performance.now() + options.seconds * 1000
    // Each change has a span of Causeway's own.
    const expected = sent.acknowledged + (program === 'causeway-export' ? cpids : 0)
    if (sendsOn) await reached(sink, expected, options.seconds * 1000)
    while (running.isSettled?.() === false && performance.now() < deadlineMs) await sleep(LOOK_AGAIN_MS)
    const cpu = cpuUsed()
    const peakRssMib = usageOf(running.pid)?.peakRssMib ?? Number.NaN
    sink.tell({ kind: 'count' })
    const atSink = await sink.hear('counted')
    await running.stop()

    const seconds = (sent.endedMs - sent.startedMs) / 1000
    const arrived = Math.min(atSink.spans, expected) / expected
    const endToEnd = (arrived * sent.acknowledged) / ((atSink.lastMs - sent.startedMs) / 1000)
    return {
      acknowledged: sent.acknowledged / seconds,
      endToEnd: sendsOn ? endToEnd : Number.NaN,
      arrived: sendsOn ? arrived * 100 : Number.NaN,
      p50Ms: percentile(sent.latenciesMs, 0.5),
      p99Ms: percentile(sent.latenciesMs, 0.99),
      refused: sent.refused,
      spans: sent.acknowledged,
      cpuSeconds: cpu.seconds,
      cpuPerMillion: (cpu.seconds / sent.acknowledged) * MILLION,
      cores: cpuSending.seconds / watched,
      peakRssMib,
      diskBytesPerSpan: diskBytes(running.data) / sent.acknowledged,
      helperCores: helpers / watched,
      othersCores: Math.max(0, cpuSending.machineSeconds - cpuSending.seconds - helpers) / watched,
    }
  } finally {
    await running.stop()
  }
}

/** Resolves once the sink has so many spans, or the time is up. */
async function reached(
  sink: HelperProcess<ToSink, FromSink>,
  spans: number,
  withinMs: number,
): Promise<void> {
  sink.tell({ kind: 'expect', spans })
  await Promise.race([sink.hear('reached', 2 * withinMs), sleep(withinMs)])
}

const BLOCK = 512

/** What the files in a folder take of the disk; holes of files count nothing. */
function diskBytes(folder: string): number {
  let bytes = 0
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * BLOCK
  }
  return bytes
}
