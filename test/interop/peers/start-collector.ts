import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePorts } from '../../../lab/harness/free-ports.ts'
import type { Scene } from '../support/scene.ts'
import { ScrapedMetrics } from '../../../lab/harness/causeway/scraped-metrics.ts'
import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import { placedSpans, type PlacedSpan, type TracesJson } from '../traces/otlp-json.ts'
import { collectorConfig, type CollectorOptions } from './collector-config.ts'
import { installPeers } from '../../../lab/peers/install-peers.ts'

export interface Collector {
  /** `host:port` of its OTLP receivers. */
  readonly otlpGrpc: string
  readonly otlpHttp: string
  metrics(): Promise<ScrapedMetrics>
  /** Whether it logged a line with this in it. */
  said(text: string): boolean
  /** The batches of spans it wrote to its file, in order. */
  written(): Promise<TracesJson[]>
  /** The log records it wrote to its file, in order. */
  writtenLogs(): Promise<OtlpJson<'LogRecord'>[]>
  /** The metrics it wrote to its file, a list each time it got some. */
  writtenMetrics(): Promise<OtlpJson<'Metric'>[][]>
}

export const COLLECTOR_IS_READY = 'Everything is ready. Begin running and processing data.'

/** Starts a Collector that also writes what passes it to a file; resolves once it takes spans and logs. */
export async function startCollector(
  scene: Scene,
  options: Omit<CollectorOptions, 'otlpGrpc' | 'otlpHttp' | 'metrics' | 'writeTo'> = {},
): Promise<Collector> {
  const { collector } = await installPeers(['collector'])
  const [otlpGrpc = 0, otlpHttp = 0, metrics = 0] = await freePorts(3)
  const writeTo = join(scene.directory, `collector-${otlpGrpc}.json`)
  const config = join(scene.directory, `collector-${otlpGrpc}.yaml`)
  await writeFile(config, collectorConfig({ ...options, otlpGrpc, otlpHttp, metrics, writeTo }))
  const program = scene.start({ name: 'collector', command: collector, args: ['--config', config] })
  await scene.eventually(() => {
    if (!program.said(COLLECTOR_IS_READY)) throw new Error('the Collector does not say that it is ready')
  })
  async function batches(): Promise<object[]> {
    const lines = (await readFile(writeTo, 'utf8')).split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as object)
  }
  return {
    otlpGrpc: `127.0.0.1:${otlpGrpc}`,
    otlpHttp: `127.0.0.1:${otlpHttp}`,
    metrics: () => ScrapedMetrics.from(metrics),
    said: (text) => program.said(text),
    written: async () => (await batches()).filter((batch): batch is TracesJson => 'resourceSpans' in batch),
    writtenMetrics: async () =>
      (await batches())
        .filter((batch): batch is OtlpJson<'ExportMetricsServiceRequest'> => 'resourceMetrics' in batch)
        .map(({ resourceMetrics = [] }) =>
          resourceMetrics.flatMap(({ scopeMetrics = [] }) =>
            scopeMetrics.flatMap((scope) => scope.metrics ?? []),
          ),
        ),
    writtenLogs: async () =>
      (await batches())
        .filter((batch): batch is OtlpJson<'ExportLogsServiceRequest'> => 'resourceLogs' in batch)
        .flatMap(({ resourceLogs = [] }) =>
          resourceLogs.flatMap(({ scopeLogs = [] }) => scopeLogs.flatMap((scope) => scope.logRecords ?? [])),
        ),
  }
}

/** All the spans that a Collector wrote to its file. */
export async function writtenSpans(collector: Collector): Promise<PlacedSpan[]> {
  return (await collector.written()).flatMap(placedSpans)
}
