import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import type { TelemetryEnds } from './play-on.ts'

interface OtlpEnds extends TelemetryEnds {
  /** Sends what is held now; connections stand afterwards. */
  flush: () => Promise<void>
}

/**
 * Sends what each component makes over gRPC with the official SDK's batch processors, set up as they are unless told
 * otherwise; `maxQueueSize` is for a run that makes in a second what a cluster makes in minutes.
 */
export function otlpEnds(endpoint: string, limits: { maxQueueSize?: number } = {}): OtlpEnds {
  const url = `http://${endpoint}`
  const made: { forceFlush: () => Promise<void> }[] = []
  const known = <T extends { forceFlush: () => Promise<void> }>(processor: T): T => {
    made.push(processor)
    return processor
  }
  return {
    spanProcessor: () =>
      known(new BatchSpanProcessor({ ...limits, exporter: new OTLPTraceExporter({ url }) })),
    logRecordProcessor: () =>
      known(new BatchLogRecordProcessor({ ...limits, exporter: new OTLPLogExporter({ url }) })),
    flush: async () => {
      await Promise.all(made.map((processor) => processor.forceFlush()))
    },
  }
}
