import type { OtlpHttpExporterConfig } from '../../causeway-config.ts'
import { POSITIVE_DURATION } from '../../schema/duration.ts'
import { field, NOT_HERE, optionalField, refusedKeys } from '../../schema/field.ts'
import { choice } from '../../schema/scalar-kinds.ts'
import { section } from '../../schema/section.ts'
import { componentType } from '../component-type.ts'
import { buildSending, sendingKeys, warnOfSending } from './otlp-sending.ts'
import { present } from '../present.ts'
import { HTTP_URL } from '../url-kinds.ts'

const settings = section(
  'Sends OTLP over HTTP.',
  {
    endpoint: optionalField(HTTP_URL, 'Base URL; `/v1/traces`, `/v1/logs` or `/v1/metrics` is added to it.'),
    traces_endpoint: optionalField(HTTP_URL, 'The whole URL for traces, used as it is.'),
    logs_endpoint: optionalField(HTTP_URL, 'The whole URL for logs, used as it is.'),
    metrics_endpoint: optionalField(HTTP_URL, 'The whole URL for metrics, used as it is.'),
    encoding: field(choice(['proto', 'json']), 'proto', 'Protobuf or JSON.'),
    timeout: field(POSITIVE_DURATION, '30s', 'How long one request may take.'),
    ...sendingKeys,
    ...refusedKeys('Causeway sends no profiles; remove it', 'profiles_endpoint'),
    ...refusedKeys(
      NOT_HERE,
      'proxy_url',
      'cookies',
      'compression_params',
      'max_idle_conns',
      'idle_conn_timeout',
    ),
    ...refusedKeys(NOT_HERE, 'max_idle_conns_per_host', 'max_conns_per_host', 'disable_keep_alives'),
    ...refusedKeys(NOT_HERE, 'http2_read_idle_timeout', 'http2_ping_timeout', 'force_attempt_http2'),
  },
  [
    ({ endpoint, traces_endpoint, logs_endpoint, metrics_endpoint }) =>
      (endpoint ?? traces_endpoint ?? logs_endpoint ?? metrics_endpoint) === undefined
        ? { key: 'endpoint', message: 'is required; write for example endpoint: http://localhost:4318' }
        : undefined,
  ],
)

export const otlpHttpExporter = componentType(
  settings,
  (
    id,
    { endpoint, traces_endpoint, logs_endpoint, metrics_endpoint, encoding, ...rest },
  ): OtlpHttpExporterConfig => ({
    id,
    kind: 'otlp_http',
    ...present({
      tracesUrl: traces_endpoint ?? underBase(endpoint, 'v1/traces'),
      logsUrl: logs_endpoint ?? underBase(endpoint, 'v1/logs'),
      metricsUrl: metrics_endpoint ?? underBase(endpoint, 'v1/metrics'),
    }),
    encoding,
    ...buildSending(
      rest,
      isPlain(endpoint ?? traces_endpoint ?? logs_endpoint ?? metrics_endpoint) ? 'http' : 'https',
    ),
  }),
  warnOfSending,
)

function underBase(base: string | undefined, path: string): string | undefined {
  return base === undefined ? undefined : `${base.replace(/\/$/, '')}/${path}`
}

function isPlain(url: string | undefined): boolean {
  return url?.toLowerCase().startsWith('http://') ?? false
}
