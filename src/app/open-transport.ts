import type { DebugExporterConfig, ExporterConfig } from '../config/causeway-config.ts'
import { openDebugTransport } from '../exporter/debug-transport.ts'
import { openGrpcTransport } from '../exporter/grpc-transport.ts'
import { openHttpTransport } from '../exporter/http-transport.ts'
import { retrying, type RetryNotice } from '../exporter/retrying-transport.ts'
import { sleep } from '../exporter/sleep.ts'
import type { Transport } from '../model/send-outcome.ts'
import { jsonOfProtobuf } from '../otlp/protobuf-to-json.ts'
import { systemClock } from './system-clock.ts'

export interface TransportHooks {
  userAgent: string
  show: (line: string) => void
  onRetry: (notice: RetryNotice) => void
}

/** Opens what an exporter of the configuration sends with, retries included. Throws when a setting is unusable. */
export function openTransport(config: ExporterConfig, hooks: TransportHooks): Transport {
  const { userAgent, onRetry } = hooks
  if (config.kind === 'debug') return openDebugTransport({ verbosity: config.verbosity, write: hooks.show })
  const transport = openOnce(config, userAgent)
  return retrying(transport, config.retry, { clock: systemClock, sleep, random: Math.random, onRetry })
}

/** Opens what sends each request once. Throws when a setting is unusable. */
export function openOnce(config: Exclude<ExporterConfig, DebugExporterConfig>, userAgent: string): Transport {
  if (config.kind === 'otlp_grpc') return openGrpcTransport({ ...config, userAgent })
  return openHttpTransport(
    {
      ...config,
      url: config.tracesUrl ?? '',
      userAgent,
      ...(config.encoding === 'json' && { toJson: requestJson }),
    },
    systemClock,
  )
}

function requestJson(request: Uint8Array): string {
  return JSON.stringify(jsonOfProtobuf('ExportTraceServiceRequest', request))
}
