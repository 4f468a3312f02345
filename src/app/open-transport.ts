import type { ExporterConfig } from '../config/causeway-config.ts'
import { openDebugTransport } from '../exporter/debug-transport.ts'
import { openGrpcTransport } from '../exporter/grpc-transport.ts'
import { openHttpTransport } from '../exporter/http-transport.ts'
import { retrying, type RetryNotice } from '../exporter/retrying-transport.ts'
import { sleep } from '../exporter/sleep.ts'
import type { Credentials } from '../trust/authenticator.ts'
import type { Transport } from '../model/send-outcome.ts'
import { jsonOfProtobuf } from '../otlp/protobuf-to-json.ts'
import { systemClock } from './system-clock.ts'

export interface TransportHooks {
  userAgent: string
  show: (line: string) => void
  onRetry: (notice: RetryNotice) => void
  onTrouble: (reason: string) => void
  /** What the exporter shows to its backend; the transport disposes of it. */
  credentials?: Credentials | undefined
}

/** Opens what an exporter of the configuration sends with, retries included. Throws when a setting is unusable. */
export function openTransport(config: ExporterConfig, hooks: TransportHooks): Transport {
  const { userAgent, onRetry, onTrouble, credentials } = hooks
  if (config.kind === 'debug') return openDebugTransport({ verbosity: config.verbosity, write: hooks.show })
  const transport =
    config.kind === 'otlp_grpc'
      ? openGrpcTransport({ ...config, userAgent, onTrouble, credentials })
      : openHttpTransport(
          {
            ...config,
            url: config.tracesUrl ?? '',
            userAgent,
            onTrouble,
            credentials,
            ...(config.encoding === 'json' && { toJson: requestJson }),
          },
          systemClock,
        )
  return retrying(transport, config.retry, { clock: systemClock, sleep, random: Math.random, onRetry })
}

function requestJson(request: Uint8Array): string {
  return JSON.stringify(jsonOfProtobuf('ExportTraceServiceRequest', request))
}
