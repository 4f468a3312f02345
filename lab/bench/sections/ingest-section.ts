import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import type { CommitOrder, FromBare, FromGenerator, SendOrder, Sent } from '../load/messages.ts'
import { linkLag } from '../measure/link-lag.ts'
import type { Options } from '../options.ts'
import type { Protocol } from '../../harness/clients/otlp-client.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import { sizeRound } from '../measure/round-size.ts'
import { SPANS_PER_REQUEST } from '../load/span-requests.ts'

const MILLION = 1e6
const LONGEST_ROUND_MS = 300_000

interface Shape {
  protocol: Protocol
  spansPerRequest: number
  /** Of the spans of a round. */
  part: number
  /** Small requests come from more senders. */
  inFlightTimes: number
}

const LARGE: Shape = { protocol: 'grpc', spansPerRequest: SPANS_PER_REQUEST, part: 1, inFlightTimes: 1 }
const SMALL: Shape = { protocol: 'grpc', spansPerRequest: 20, part: 0.4, inFlightTimes: 4 }
const JSON_BODIES: Shape = {
  protocol: 'http/json',
  spansPerRequest: SPANS_PER_REQUEST,
  part: 0.4,
  inFlightTimes: 1,
}

/** Acknowledged, and so durable, spans a second, with nothing sent on; beside what SQLite alone can do. */
export async function benchIngest(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    const bare = await bareRound(options)
    const large = await ingestRound(options, LARGE)
    const small = await ingestRound(options, SMALL)
    const json = await ingestRound(options, JSON_BODIES)
    rounds.push({
      ...large,
      bareSpansPerSecond: bare,
      ofBare: (large['spansPerSecond'] ?? Number.NaN) / bare,
      smallSpansPerSecond: small['spansPerSecond'] ?? Number.NaN,
      jsonSpansPerSecond: json['spansPerSecond'] ?? Number.NaN,
    })
    onRound()
  }
  const { spans } = sizeRound(options)
  return {
    name: 'ingest',
    about:
      `${spans} spans a round over gRPC, ${SPANS_PER_REQUEST} a request, ${options.inFlight} requests in flight, traces/out left out; ` +
      `then two fifths as many, ${SMALL.spansPerRequest} a request, ${SMALL.inFlightTimes * options.inFlight} in flight, and as many in HTTP/JSON; ` +
      'before each round what SQLite alone commits',
    figures: {
      spansPerSecond: { label: 'acknowledged', unit: 'spans/s', digits: 0, target: { atLeast: 60_000 } },
      bareSpansPerSecond: { label: 'bare SQLite, the same rows', unit: 'spans/s', digits: 0 },
      ofBare: { label: 'acknowledged ÷ bare SQLite', unit: '×', digits: 2, target: { atLeast: 0.8 } },
      smallSpansPerSecond: { label: 'acknowledged, 20 spans a request', unit: 'spans/s', digits: 0 },
      jsonSpansPerSecond: { label: 'acknowledged, HTTP/JSON', unit: 'spans/s', digits: 0 },
      peakRssMib: { label: 'memory, highest', unit: 'MiB', digits: 0, target: { atMost: 250 } },
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

/** Spans a second that SQLite commits with nothing around it. */
async function bareRound(options: Options): Promise<number> {
  using directory = freshDirectory(options.directory)
  using bare = new HelperProcess<CommitOrder, FromBare>('bare-sqlite.ts')
  await bare.hear('ready')
  const { requests } = sizeRound(options)
  bare.tell({ kind: 'commit', path: join(directory.path, DATABASE), requests })
  const { spans, seconds } = await bare.hear('committed', LONGEST_ROUND_MS)
  return spans / seconds
}

async function ingestRound(options: Options, shape: Shape): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  using generator = new HelperProcess<SendOrder, FromGenerator>('load-generator.ts')
  await generator.hear('ready')
  const causeway = await startMeasuredCauseway(options, directory.path)
  const before = usageOf(causeway.pid)
  const cpuUsed = watchCpu(causeway.pid)
  generator.tell(orderOf(options, shape, causeway))
  const sent = await generator.hear('sent', LONGEST_ROUND_MS)
  const after = usageOf(causeway.pid)
  const cpu = cpuUsed()
  const unlinkedSpans = linkLag(causeway.path)
  await causeway.stop()

  const spans = sent.acknowledged
  const seconds = secondsOf(sent)
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

function orderOf(
  options: Options,
  { protocol, spansPerRequest, part, inFlightTimes }: Shape,
  causeway: { endpoint: string; httpEndpoint: string },
): SendOrder {
  const { requests, cascades } = sizeRound({ spans: options.spans * part }, spansPerRequest)
  return {
    kind: 'send',
    endpoint: protocol === 'grpc' ? causeway.endpoint : causeway.httpEndpoint,
    protocol,
    spansPerRequest,
    requests,
    inFlight: options.inFlight * inFlightTimes,
    cascades,
  }
}

function secondsOf({ startedMs, endedMs }: Sent): number {
  return (endedMs - startedMs) / 1000
}
