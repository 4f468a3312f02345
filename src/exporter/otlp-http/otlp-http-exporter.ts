import { componentType, httpBackend } from '../../config/component-type.ts'
import {
  field,
  optionalField,
  refusedKeys,
  section,
  UNSUPPORTED_COLLECTOR_KEY,
  withoutUndefined,
} from '../../config/schema.ts'
import { choice, HTTP_URL, POSITIVE_WAIT } from '../../config/value-kinds.ts'
import type { Signal } from '../../model/otlp-requests.ts'
import type { ExporterType } from '../exporter-type.ts'
import {
  buildSending,
  openSendingFiles,
  type OtlpSending,
  sendingKeys,
  sendingOf,
  warnOfSending,
} from '../otlp-exporter-settings.ts'

const schema = section(
  'Sends OTLP over HTTP to a backend or a Collector.',
  {
    endpoint: optionalField(
      HTTP_URL,
      'The base URL of the backend. `/v1/traces`, `/v1/logs` or `/v1/metrics` is appended to it.',
    ),
    traces_endpoint: optionalField(HTTP_URL, 'The complete URL for traces. Nothing is appended to it.'),
    logs_endpoint: optionalField(HTTP_URL, 'The complete URL for logs. Nothing is appended to it.'),
    metrics_endpoint: optionalField(HTTP_URL, 'The complete URL for metrics. Nothing is appended to it.'),
    encoding: field(choice(['proto', 'json']), 'proto', 'The encoding of requests: protobuf or JSON.'),
    timeout: field(POSITIVE_WAIT, '30s', 'How long one request may take before it counts as failed.'),
    ...sendingKeys,
    ...refusedKeys('Causeway sends no profiles; remove it', 'profiles_endpoint'),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'proxy_url',
      'cookies',
      'compression_params',
      'max_idle_conns',
      'idle_conn_timeout',
    ),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'max_idle_conns_per_host',
      'max_conns_per_host',
      'disable_keep_alives',
    ),
    ...refusedKeys(
      UNSUPPORTED_COLLECTOR_KEY,
      'http2_read_idle_timeout',
      'http2_ping_timeout',
      'force_attempt_http2',
    ),
  },
  [
    ({ endpoint, traces_endpoint, logs_endpoint, metrics_endpoint }) =>
      (endpoint ?? traces_endpoint ?? logs_endpoint ?? metrics_endpoint) === undefined
        ? { key: 'endpoint', message: 'is required; write for example endpoint: http://localhost:4318' }
        : undefined,
  ],
)

export interface OtlpHttpSettings extends OtlpSending {
  /** The URL of each signal that a pipeline sends here. */
  urls: Partial<Record<Signal, string>>
  encoding: 'proto' | 'json'
}

export const otlpHttpExporter: ExporterType<OtlpHttpSettings> = {
  ...componentType({
    name: 'otlp_http',
    aliases: ['otlphttp'],
    schema,
    build: ({
      endpoint,
      traces_endpoint,
      logs_endpoint,
      metrics_endpoint,
      encoding,
      ...rest
    }): OtlpHttpSettings => ({
      urls: withoutUndefined({
        traces: traces_endpoint ?? underBase(endpoint, 'v1/traces'),
        logs: logs_endpoint ?? underBase(endpoint, 'v1/logs'),
        metrics: metrics_endpoint ?? underBase(endpoint, 'v1/metrics'),
      }),
      encoding,
      ...buildSending(
        rest,
        isPlain(endpoint ?? traces_endpoint ?? logs_endpoint ?? metrics_endpoint) ? 'http' : 'https',
      ),
    }),
    warn: warnOfSending,
  }),
  signals: ['traces', 'logs', 'metrics'],
  refuses: ({ urls }, signal, pipeline) =>
    urls[signal] === undefined
      ? `either endpoint or ${signal}_endpoint must be specified, because ${pipeline} sends ${signal} here`
      : undefined,
  destination: (settings, signal) => {
    const url = new URL(urlOf(settings, signal))
    return httpBackend(url, url.origin + url.pathname, 'OTLP/HTTP')
  },
  auth: ({ auth }) => auth,
  sending: sendingOf,
  openFiles: openSendingFiles,
  load: () => import('./http-transport.ts'),
}

/** The configuration is checked to have one for every signal that a pipeline sends here. */
export function urlOf({ urls }: OtlpHttpSettings, signal: Signal): string {
  return urls[signal] ?? ''
}

function underBase(base: string | undefined, path: string): string | undefined {
  return base === undefined ? undefined : `${base.replace(/\/$/, '')}/${path}`
}

function isPlain(url: string | undefined): boolean {
  return url?.toLowerCase().startsWith('http://') ?? false
}
