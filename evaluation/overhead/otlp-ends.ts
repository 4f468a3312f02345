import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { TelemetryEnds } from './play-on.ts'

/** Not the usual 5 s, so that sending falls into the time that is measured, several times a run. */
const BATCH_WAIT = { scheduledDelayMillis: 1_000 }

/**
 * Sends what each component makes over gRPC with the official SDK's batch processors; `maxQueueSize` is for a run that
 * makes in a second what a cluster makes in minutes.
 */
export function otlpEnds(endpoint: string, limits: { maxQueueSize?: number } = {}): TelemetryEnds {
  const url = `http://${endpoint}`
  const batch = { ...BATCH_WAIT, ...limits }
  return {
    spanProcessor: () => new BatchSpanProcessor({ ...batch, exporter: new OTLPTraceExporter({ url }) }),
    logRecordProcessor: () =>
      new BatchLogRecordProcessor({ ...batch, exporter: new OTLPLogExporter({ url }) }),
  }
}
