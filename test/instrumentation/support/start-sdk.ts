import { context, logs, metrics, propagation, trace } from '@opentelemetry/api'
import {
  InMemoryLogRecordExporter,
  SimpleLogRecordProcessor,
  type ReadableLogRecord,
} from '@opentelemetry/sdk-logs'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { NodeSDK } from '@opentelemetry/sdk-node'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace'
import { CpidLogRecordProcessor } from '../../../packages/instrumentation/src/telemetry/cpid-log-record-processor.ts'
import { CpidSpanProcessor } from '../../../packages/instrumentation/src/telemetry/cpid-span-processor.ts'

export interface Sdk extends AsyncDisposable {
  spans(): ReadableSpan[]
  records(): ReadableLogRecord[]
  /** The newest value of a counter, by name; undefined when it was never reported. */
  counter(name: string): Promise<unknown>
}

/** The official SDK with everything kept in memory; a logger provider is registered unless there are to be no logs. */
export function startSdk({ withLogs = true, sampler }: { withLogs?: boolean; sampler?: Sampler } = {}): Sdk {
  const spans = new InMemorySpanExporter()
  const records = new InMemoryLogRecordExporter()
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })
  const environment = process.env
  process.env = { ...environment, OTEL_LOGS_EXPORTER: 'none' }
  const sdk = new NodeSDK({
    autoDetectResources: false,
    spanProcessors: [new CpidSpanProcessor(), new SimpleSpanProcessor({ exporter: spans })],
    metricReaders: [reader],
    ...(withLogs && {
      logRecordProcessors: [
        new CpidLogRecordProcessor(),
        new SimpleLogRecordProcessor({ exporter: records }),
      ],
    }),
    ...(sampler !== undefined && { sampler }),
  })
  sdk.start()
  process.env = environment
  return {
    spans: () => spans.getFinishedSpans(),
    records: () => records.getFinishedLogRecords(),
    counter: async (name) => {
      await reader.forceFlush()
      const newest = measured
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap((scope) => scope.metrics)
      return newest?.find(({ descriptor }) => descriptor.name === name)?.dataPoints[0]?.value
    },
    [Symbol.asyncDispose]: async () => {
      await sdk.shutdown()
      for (const api of [trace, logs, metrics, context, propagation]) api.disable()
    },
  }
}
