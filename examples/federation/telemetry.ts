import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { RetryingExporter } from 'causeway-instrumentation'
import type { TraceClusterSettings } from 'causeway-instrumentation/kubernetes'

// A cascade is looked at while it goes on.
const LONGEST_KEPT_MS = 500

/**
 * Starts OpenTelemetry, and gives for each cluster that the process works with what `traceCluster` takes: its spans and mergelogs go
 * out together with those of the others, and say in their resource which cluster they are of.
 */
export function startTelemetry(service: string): (cluster: string) => TraceClusterSettings {
  const spans = new BatchSpanProcessor({
    exporter: new RetryingExporter(new OTLPTraceExporter()),
    scheduledDelayMillis: LONGEST_KEPT_MS,
  })
  const records = new BatchLogRecordProcessor({
    exporter: new RetryingExporter(new OTLPLogExporter()),
    scheduledDelayMillis: LONGEST_KEPT_MS,
  })
  const sdk = new NodeSDK({ serviceName: service, spanProcessors: [spans], logRecordProcessors: [records] })
  sdk.start()
  process.once('SIGTERM', () => void sdk.shutdown().finally(() => process.exit()))
  return (cluster) => {
    const resource = resourceFromAttributes({ 'service.name': service, 'k8s.cluster.name': cluster })
    return {
      cluster,
      tracerProvider: new TracerProvider({ resource, spanProcessors: [spans] }),
      loggerProvider: new LoggerProvider({ resource, processors: [records] }),
    }
  }
}
