import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { TelemetryEnds } from './play-on.ts'

/**
 * Sends what each component makes over gRPC with the official SDK's batch processors, as it is set up unless told
 * otherwise; `maxQueueSize` is for a run that makes in a second what a cluster makes in minutes.
 */
export function otlpEnds(endpoint: string, limits: { maxQueueSize?: number } = {}): TelemetryEnds {
  const url = `http://${endpoint}`
  return {
    spanProcessor: () => new BatchSpanProcessor({ ...limits, exporter: new OTLPTraceExporter({ url }) }),
    logRecordProcessor: () =>
      new BatchLogRecordProcessor({ ...limits, exporter: new OTLPLogExporter({ url }) }),
  }
}
