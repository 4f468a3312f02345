import type {
  AuthenticatorConfig,
  DebugExporterConfig,
  ExporterConfig,
  OtlpHttpExporterConfig,
} from '../../config/causeway-config.ts'
import { openDebugTransport } from '../../exporter/debug/debug-transport.ts'
import { openGrpcTransport } from '../../exporter/otlp-grpc/grpc-transport.ts'
import { openHttpTransport } from '../../exporter/otlp-http/http-transport.ts'
import { retrying, type RetryNotice } from '../../exporter/retrying-transport.ts'
import { sleep } from '../../exporter/sleep.ts'
import type { SentSignal } from '../../model/ingest.ts'
import type { Credentials } from '../../trust/authenticator.ts'
import type { Transport } from '../../model/send-outcome.ts'
import { jsonOfProtobuf } from '../../otlp/json/protobuf-to-json.ts'
import { EXPORT_REQUEST } from '../../otlp/json/schema.ts'
import { openCredentials } from '../authenticators.ts'
import { systemClock } from '../system-clock.ts'

export interface SendingHooks {
  userAgent: string
  /** What exporters may show to their backends; each names its own by id. */
  authenticators: readonly AuthenticatorConfig[]
  /** Told of what an operator should see to, such as certificates that cannot be read again; sending goes on. */
  onTrouble: (reason: string) => void
}

export interface TransportHooks extends SendingHooks {
  show: (line: string) => void
  onRetry: (notice: RetryNotice) => void
}

/** Opens what an exporter of the configuration sends a signal with, retries included. Throws when a setting is unusable. */
export function openTransport(config: ExporterConfig, signal: SentSignal, hooks: TransportHooks): Transport {
  if (config.kind === 'debug') {
    return openDebugTransport({ verbosity: config.verbosity, signal, write: hooks.show })
  }
  const transport = openOnce(config, signal, hooks)
  const { onRetry } = hooks
  return retrying(transport, config.retry, { clock: systemClock, sleep, random: Math.random, onRetry })
}

/** Opens what sends each request of a signal once. Throws when a setting is unusable. */
export function openOnce(
  config: Exclude<ExporterConfig, DebugExporterConfig>,
  signal: SentSignal,
  hooks: SendingHooks,
): Transport {
  using open = new DisposableStack()
  const credentials = open.use(credentialsOf(config, hooks))
  const transport = openWith(config, signal, hooks, credentials)
  // From here on the transport disposes of them.
  open.move()
  return transport
}

function openWith(
  config: Exclude<ExporterConfig, DebugExporterConfig>,
  signal: SentSignal,
  { userAgent, onTrouble }: SendingHooks,
  credentials: Credentials | undefined,
): Transport {
  const common = { userAgent, onTrouble, credentials }
  if (config.kind === 'otlp_grpc') return openGrpcTransport({ ...config, ...common, signal })
  return openHttpTransport(
    {
      ...config,
      ...common,
      url: urlFor(config, signal),
      ...(config.encoding === 'json' && {
        toJson: (request) => JSON.stringify(jsonOfProtobuf(EXPORT_REQUEST[signal], request)),
      }),
    },
    systemClock,
  )
}

function credentialsOf(
  { auth }: Exclude<ExporterConfig, DebugExporterConfig>,
  { authenticators, onTrouble }: SendingHooks,
): Credentials | undefined {
  if (auth === undefined) return undefined
  const named = authenticators.find(({ id }) => id === auth)
  if (named === undefined) throw new Error(`the authenticator ${auth} is not there`)
  return openCredentials(named, onTrouble)
}

/** Checked to be there for every signal that a pipeline sends here. */
export function urlFor(
  { tracesUrl, logsUrl, metricsUrl }: OtlpHttpExporterConfig,
  signal: SentSignal,
): string {
  return { traces: tracesUrl, logs: logsUrl, metrics: metricsUrl }[signal] ?? ''
}
