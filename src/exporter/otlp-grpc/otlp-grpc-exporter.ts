import { componentType } from '../../config/component-type.ts'
import { field, refusedKeys, requiredField, section, UNSUPPORTED_COLLECTOR_KEY } from '../../config/schema.ts'
import { type Endpoint, formatEndpoint, GRPC_TARGET, POSITIVE_WAIT } from '../../config/value-kinds.ts'
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
  'Sends OTLP over gRPC to Jaeger, Grafana Tempo or a Collector.',
  {
    endpoint: requiredField(
      GRPC_TARGET,
      'endpoint: localhost:4317',
      'The address and port of the backend. A leading `https://` turns TLS on. A leading `http://` turns it off unless `tls` says otherwise.',
    ),
    timeout: field(POSITIVE_WAIT, '5s', 'How long one request may take before it counts as failed.'),
    ...sendingKeys,
    ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'balancer_name', 'wait_for_ready', 'authority', 'user_agent'),
  },
  [
    ({ endpoint, tls }) =>
      endpoint.scheme === 'http' && tls.insecure === false
        ? {
            key: 'endpoint',
            message: 'begins with http:// but tls::insecure is false; write https:// or insecure: true',
          }
        : undefined,
  ],
)

export interface OtlpGrpcSettings extends OtlpSending, Endpoint {}

export const otlpGrpcExporter: ExporterType<OtlpGrpcSettings> = {
  ...componentType({
    name: 'otlp_grpc',
    aliases: ['otlp'],
    schema,
    build: ({ endpoint: { host, port, scheme }, ...rest }): OtlpGrpcSettings => ({
      host,
      port,
      ...buildSending(rest, scheme),
    }),
    warn: warnOfSending,
  }),
  signals: ['traces', 'logs', 'metrics'],
  destination: ({ host, port, tls }) => ({
    kind: 'backend',
    host,
    port,
    where: formatEndpoint({ host, port }),
    speaks: 'OTLP/gRPC',
    isPlain: tls.insecure,
  }),
  auth: ({ auth }) => auth,
  sending: sendingOf,
  openFiles: openSendingFiles,
  load: () => import('./grpc-transport.ts'),
}
