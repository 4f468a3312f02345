import type { OtlpGrpcExporterConfig } from '../../causeway-config.ts'
import { POSITIVE_DURATION } from '../../schema/duration.ts'
import { field, NOT_HERE, refusedKeys, requiredField } from '../../schema/field.ts'
import { section } from '../../schema/section.ts'
import { componentType } from '../component-type.ts'
import { buildSending, sendingKeys, warnOfSending } from './otlp-sending.ts'
import { GRPC_TARGET } from '../url-kinds.ts'

const settings = section(
  'Sends OTLP over gRPC, to Jaeger, Grafana Tempo or a Collector.',
  {
    endpoint: requiredField(
      GRPC_TARGET,
      'endpoint: localhost:4317',
      'Where to send. `https://` before it turns TLS on, `http://` turns it off where `tls` does not say.',
    ),
    timeout: field(POSITIVE_DURATION, '5s', 'How long one request may take.'),
    ...sendingKeys,
    ...refusedKeys(NOT_HERE, 'balancer_name', 'wait_for_ready', 'authority', 'user_agent'),
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

export const otlpGrpcExporter = componentType(
  settings,
  (id, { endpoint: { host, port, scheme }, ...rest }): OtlpGrpcExporterConfig => ({
    id,
    kind: 'otlp_grpc',
    host,
    port,
    ...buildSending(rest, scheme),
  }),
  warnOfSending,
)
