import { randomBytes, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { type MeasuredCauseway, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { openClient, type OtlpClient } from '../../harness/clients/otlp-client.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import type { AskOrder, AskReport, FromAskers } from '../load/fair-askers.ts'
import type { FairOrder, FairReport, FromFairSenders } from '../load/fair-senders.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { inventCascades, mergelogRequest } from '../load/mergelog-request.ts'
import { type Figure, percentile } from '../measure/figures.ts'
import { untilLinked } from '../measure/link-lag.ts'
import type { Options } from '../options.ts'

/** Where the helper processes are. */
const LOAD = new URL('../load/', import.meta.url).href
const PHASE_MS = 8_000
const REST_MS = 2_000
const ASKED_PER_SECOND = 20
const CASCADES = 40
const LEVELS = 4
const LARGE_ROWS = 12
const LARGE_BYTES = 10 * 2 ** 20
const RELATED = 20_000
const AT_ONCE = 5_000
const SENDERS = {
  services: ['deployment-ctl', 'replicaset-ctl', 'scheduler', 'kubelet'],
  spansPerRequest: 32,
  requestsPerSecond: 10,
  connections: 1,
  inFlight: 1,
}
const FLOOD = { services: ['looping-ctl'], connections: 50, inFlight: 8, spansPerRequest: 512 }

/** Linux takes all of 127.0.0.0/8 for its own. */
const ELSEWHERE = '127.0.0.2'

/**
 * Who is beside the others: so many connections that ask what takes long, or a flood over as many of OTLP/gRPC. The same flood
 * at another Causeway on this machine shows what the machine alone costs them.
 */
const BESIDE = {
  OneAsks: { as: 'beside one connection that asks what takes long', connections: 1, from: ELSEWHERE },
  ManyAsk: { as: 'beside 40 of them', connections: 40, from: ELSEWHERE },
  ManyAskHere: { as: 'beside 40 at the same address', connections: 40, from: undefined },
  ManySend: { as: 'beside 50 connections of OTLP/gRPC', connections: 0, from: undefined },
  ManySendElsewhere: { as: 'beside these at another Causeway', connections: 0, from: undefined },
}

/** What `askedRound` measures. */
export function askedFigures(): Record<string, Figure> {
  const ms = (label: string): Figure => ({ label, unit: 'ms', digits: 1 })
  const ratio = (label: string, name: string): Figure => {
    const isOfMachine = name === 'ManySendElsewhere'
    return { label, unit: '', digits: 2, ...(!isOfMachine && { target: { atMost: 3 } }) }
  }
  return {
    askedP50Ms: ms('questions alone, half within'),
    askedP99Ms: ms('questions alone, 99 % within'),
    ...Object.fromEntries(
      Object.entries(BESIDE).flatMap(([name, { as }]) => [
        [`askedP50${name}`, ratio(`questions ${as}, half within, ratio to alone`, name)],
        [`askedP99${name}`, ratio('… 99 % within', name)],
        [`sentP50${name}`, ratio(`requests ${as}, half within, ratio to alone`, name)],
        [`sentP99${name}`, ratio('… 99 % within', name)],
      ]),
    ),
    askersRefused: { label: 'refused of the others', unit: 'requests', digits: 0, target: { atMost: 0 } },
  }
}

/** People who ask what is answered soon, and controllers that send little, alone and beside one who takes what there is; by turns. */
export async function askedRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  using anotherDirectory = freshDirectory(options.directory)
  using senders = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts', LOAD)
  using askers = new HelperProcess<AskOrder, FromAskers>('fair-askers.ts', LOAD)
  using flooders = new HelperProcess<FairOrder, FromFairSenders>('fair-senders.ts', LOAD)
  using costly = new HelperProcess<AskOrder, FromAskers>('fair-askers.ts', LOAD)
  await Promise.all([
    senders.hear('ready'),
    askers.hear('ready'),
    flooders.hear('ready'),
    costly.hear('ready'),
  ])
  const causeway = await startMeasuredCauseway(options, directory.path)
  const another = await startMeasuredCauseway(options, anotherDirectory.path)
  try {
    const { short, long } = await fill(causeway)
    const { endpoint, query } = causeway
    const others = async (): Promise<{ sent: FairReport; asked: AskReport }> => {
      senders.tell({ kind: 'send', endpoint, ...SENDERS, forMs: PHASE_MS })
      const connections = 4
      askers.tell({
        kind: 'ask',
        query,
        paths: short,
        perSecond: ASKED_PER_SECOND,
        connections,
        forMs: PHASE_MS,
      })
      const [sent, asked] = await Promise.all([
        senders.hear('sent', PHASE_MS + 60_000),
        askers.hear('asked', PHASE_MS + 60_000),
      ])
      return { sent, asked }
    }
    await others()
    const figures: Record<string, number> = { askersRefused: 0 }
    for (const [name, { connections, from }] of Object.entries(BESIDE)) {
      const alone = await others()
      if (connections > 0)
        costly.tell({
          kind: 'ask',
          query,
          paths: long,
          connections,
          forMs: PHASE_MS,
          ...(from !== undefined && { from }),
        })
      else {
        const flooded = name === 'ManySendElsewhere' ? another.endpoint : endpoint
        flooders.tell({ kind: 'send', endpoint: flooded, ...FLOOD, forMs: PHASE_MS })
      }
      const beside = await others()
      await (connections > 0 ? costly.hear('asked', 60_000) : flooders.hear('sent', 60_000))
      const ratio = (what: 'sent' | 'asked', part: number): number =>
        percentile(beside[what].latenciesMs, part) / percentile(alone[what].latenciesMs, part)
      figures['askedP50Ms'] ??= percentile(alone.asked.latenciesMs, 0.5)
      figures['askedP99Ms'] ??= percentile(alone.asked.latenciesMs, 0.99)
      for (const what of ['asked', 'sent'] as const) {
        figures[`${what}P50${name}`] = ratio(what, 0.5)
        figures[`${what}P99${name}`] = ratio(what, 0.99)
        figures['askersRefused'] =
          (figures['askersRefused'] ?? 0) + beside[what].refused + beside[what].failed
      }
      await pause(REST_MS)
    }
    return figures
  } finally {
    await Promise.all([causeway.stop(), another.stop()])
  }
}

/** Cascades that people look at; a change with very many descendants and very large rows. What to ask of either. */
async function fill(causeway: MeasuredCauseway): Promise<{ short: string[]; long: string[] }> {
  const client = await openClient('grpc', causeway.endpoint)
  const cascades = inventCascades(CASCADES, LEVELS)
  await client.logs(mergelogRequest(cascades))
  const root = randomUUID()
  for (let from = 0; from < RELATED; from += AT_ONCE) await client.logs(descendants(root, from))
  for (let row = 1; row <= LARGE_ROWS; row++) await sendLargeRow(client, root, row)
  client.close()
  await untilLinked(causeway.path)
  const short = (cascades.levels[0] ?? []).flatMap((cpid) => [
    `/api/v1/cpids/${cpid}`,
    '/api/v1/cascades?limit=10',
    `/api/v1/cpids/${cpid}/related`,
    '/jaeger/api/services',
  ])
  const search = new URLSearchParams({ q: '{ .note =~ ".*abcdefgh.*zz" }', limit: '20' }).toString()
  const long = [
    '/api/v1/spans?limit=10000',
    `/api/v1/cpids/${root}/related`,
    `/api/v1/cascades/${root}`,
    `/tempo/api/search?${search}`,
    `/api/v1/cpids/${root}/mergelogs`,
    '/api/v1/find?q=web',
    `/api/v1/cpids/${root}/spans`,
  ]
  return { short, long }
}

function descendants(root: string, from: number): Buffer {
  const logRecords = Array.from({ length: AT_ONCE }, (_, at) => ({
    timeUnixNano: nowNano(),
    eventName: 'cpid.mergelog',
    attributes: [
      text('cpid.new', from + at === 0 ? root : randomUUID()),
      text('cpid.object', `apps/v1/deployments/shop/web-${from + at}`),
      ...(from + at === 0
        ? []
        : [{ key: 'cpid.sources', value: { arrayValue: { values: [{ stringValue: root }] } } }]),
    ],
  }))
  const request = { resourceLogs: [{ resource: RESOURCE, scopeLogs: [{ logRecords }] }] }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
}

async function sendLargeRow(client: OtlpClient, root: string, row: number): Promise<void> {
  const span = {
    traceId: row.toString(16).padStart(32, '0'),
    spanId: row.toString(16).padStart(16, '0'),
    name: 'large',
    startTimeUnixNano: nowNano(),
    endTimeUnixNano: nowNano(),
    attributes: [text('cpid.id', root), text('note', randomBytes(LARGE_BYTES / 2).toString('hex'))],
  }
  const request = { resourceSpans: [{ resource: RESOURCE, scopeSpans: [{ spans: [span] }] }] }
  const bytes = Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
  while ((await client.spans(bytes)).outcome === 'refused') await pause(REST_MS)
}

const text = (key: string, stringValue: string): unknown => ({ key, value: { stringValue } })

const RESOURCE = { attributes: [text('service.name', 'large')] }

const nowNano = (): string => String(BigInt(Date.now()) * 1_000_000n)
