import type {
  DebugExporterConfig,
  ExporterConfig,
  OtlpHttpExporterConfig,
} from '../config/causeway-config.ts'
import { openDebugTransport } from '../exporter/debug-transport.ts'
import { openGrpcTransport } from '../exporter/grpc-transport.ts'
import { openHttpTransport } from '../exporter/http-transport.ts'
import { retrying, type RetryNotice } from '../exporter/retrying-transport.ts'
import { sleep } from '../exporter/sleep.ts'
import type { SentSignal } from '../model/ingest.ts'
import type { Transport } from '../model/send-outcome.ts'
import { jsonOfProtobuf } from '../otlp/protobuf-to-json.ts'
import { EXPORT_REQUEST } from '../otlp/schema.ts'
import { systemClock } from './system-clock.ts'

export interface TransportHooks {
  userAgent: string
  show: (line: string) => void
  onRetry: (notice: RetryNotice) => void
}

/** Opens what an exporter of the configuration sends a signal with, retries included. Throws when a setting is unusable. */
export function openTransport(config: ExporterConfig, signal: SentSignal, hooks: TransportHooks): Transport {
  const { userAgent, onRetry } = hooks
  if (config.kind === 'debug') {
    return openDebugTransport({ verbosity: config.verbosity, signal, write: hooks.show })
  }
  const transport = openOnce(config, signal, userAgent)
  return retrying(transport, config.retry, { clock: systemClock, sleep, random: Math.random, onRetry })
}

/** Opens what sends each request of a signal once. Throws when a setting is unusable. */
export function openOnce(
  config: Exclude<ExporterConfig, DebugExporterConfig>,
  signal: SentSignal,
  userAgent: string,
): Transport {
  if (config.kind === 'otlp_grpc') return openGrpcTransport({ ...config, signal, userAgent })
  return openHttpTransport(
    {
      ...config,
      url: urlFor(config, signal),
      userAgent,
      ...(config.encoding === 'json' && {
        toJson: (request) => JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request)),
      }),
    },
    systemClock,
  )
}

/** Checked to be there for every signal that a pipeline sends here. */
export function urlFor(
  { tracesUrl, logsUrl, metricsUrl }: OtlpHttpExporterConfig,
  signal: SentSignal,
): string {
  return { traces: tracesUrl, logs: logsUrl, metrics: metricsUrl }[signal] ?? ''
}
