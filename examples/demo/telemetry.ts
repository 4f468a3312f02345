import { diag, DiagLogLevel, logs, trace } from '@opentelemetry/api'
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-grpc'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace'
import { CpidLogRecordProcessor, CpidSpanProcessor, createInstrumentation } from 'causeway-instrumentation'
import type { Tracing } from '../../packages/control-plane/runtime/traced-work.ts'

const SCOPE = 'causeway-demo'
/** Short, to keep the demo short. */
const BATCHING = { scheduledDelayMillis: 200 }
const SILENT = { info: () => undefined, debug: () => undefined, verbose: () => undefined }

/**
 * The OpenTelemetry SDK as any program sets it up, with the two processors that add the CPID. Resource and endpoint come
 * from the usual OTEL_ variables; `complain` takes what the SDK could not do.
 */
export function startTelemetry(complain: (text: string) => void): NodeSDK {
  diag.setLogger({ error: complain, warn: complain, ...SILENT }, DiagLogLevel.WARN)
  const sdk = new NodeSDK({
    spanProcessors: [
      new CpidSpanProcessor(),
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter(), ...BATCHING }),
    ],
    logRecordProcessors: [
      new CpidLogRecordProcessor(),
      new BatchLogRecordProcessor({ exporter: new OTLPLogExporter(), ...BATCHING }),
    ],
  })
  sdk.start()
  return sdk
}

/** What the work of a process is traced with, once the SDK has started. */
export function tracing(): Tracing {
  return {
    instrumentation: createInstrumentation(),
    tracer: trace.getTracer(SCOPE),
    logger: logs.getLogger(SCOPE),
    marksDeletions: true,
  }
}
