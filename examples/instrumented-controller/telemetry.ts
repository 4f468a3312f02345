import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import { CpidLogRecordProcessor, CpidSpanProcessor, RetryingExporter } from 'causeway-instrumentation'

/** The OpenTelemetry SDK as any program sets it up, with the two processors that add the CPID. */
export function startTelemetry(serviceName: string): NodeSDK {
  const sdk = new NodeSDK({
    serviceName,
    spanProcessors: [
      new CpidSpanProcessor(),
      new BatchSpanProcessor({ exporter: new RetryingExporter(new OTLPTraceExporter()) }),
    ],
    logRecordProcessors: [
      new CpidLogRecordProcessor(),
      new BatchLogRecordProcessor({ exporter: new RetryingExporter(new OTLPLogExporter()) }),
    ],
    metricReaders: [],
  })
  sdk.start()
  return sdk
}
