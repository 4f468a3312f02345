import type { Declarations } from '../config/component-type.ts'
import { cpidConnector } from '../config/cpid-connector.ts'
import { clickHouseExporter } from '../exporter/clickhouse/clickhouse-exporter.ts'
import { debugExporter } from '../exporter/debug/debug-exporter.ts'
import type { ExporterType } from '../exporter/exporter-type.ts'
import { otlpGrpcExporter } from '../exporter/otlp-grpc/otlp-grpc-exporter.ts'
import { otlpHttpExporter } from '../exporter/otlp-http/otlp-http-exporter.ts'
import { basicAuthExtension } from '../extension/basic-auth/basic-auth-extension.ts'
import { bearerTokenAuthExtension } from '../extension/bearer-token-auth/bearer-token-auth-extension.ts'
import type { ExtensionType } from '../extension/extension-type.ts'
import { healthCheckExtension } from '../extension/health-check/health-check-extension.ts'
import { memoryLimiterExtension } from '../extension/memory-limiter/memory-limiter-extension.ts'
import { queryExtension } from '../extension/query/query-extension.ts'
import { k8sAdmissionReceiver } from '../receiver/k8s-admission/k8s-admission-receiver.ts'
import { k8sAuditReceiver } from '../receiver/k8s-audit/k8s-audit-receiver.ts'
import { k8sEventsReceiver } from '../receiver/k8s-events/k8s-events-receiver.ts'
import { k8sObjectsReceiver } from '../receiver/k8s-objects/k8s-objects-receiver.ts'
import { otlpReceiver } from '../receiver/otlp/otlp-receiver.ts'
import type { ReceiverType } from '../receiver/receiver-type.ts'

/** All component types. No other module refers to one by its name. */
export interface Components extends Declarations {
  /** The module that exports this list as `COMPONENTS`; threads load it. */
  readonly module: string
  readonly receivers: readonly ReceiverType[]
  readonly exporters: readonly ExporterType[]
  readonly extensions: readonly ExtensionType[]
}

const BY_ITSELF = 'Causeway batches by itself; remove it here and from the pipelines'
const LIMITER =
  'Causeway has it as an extension of that name with the same keys; move it there and into service::extensions'

/** The types for `causeway observe`: the receiver that watches the cluster, and the dashboard. */
export const OBSERVE_COMPONENTS = { receiver: k8sObjectsReceiver.name, dashboard: queryExtension.name }

export const COMPONENTS: Components = {
  module: import.meta.url,
  receivers: [otlpReceiver, k8sAdmissionReceiver, k8sAuditReceiver, k8sEventsReceiver, k8sObjectsReceiver],
  processors: [],
  exporters: [clickHouseExporter, debugExporter, otlpGrpcExporter, otlpHttpExporter],
  connectors: [cpidConnector],
  extensions: [
    basicAuthExtension,
    bearerTokenAuthExtension,
    queryExtension,
    healthCheckExtension,
    memoryLimiterExtension,
  ],
  instead: {
    receivers: {},
    processors: { batch: BY_ITSELF, memory_limiter: LIMITER },
    exporters: { jaeger: 'Jaeger takes OTLP; write otlp_grpc/jaeger' },
    connectors: {},
    extensions: {
      file_storage: 'the outbox in SQLite is durable by itself; remove it',
      healthcheckv2: 'write health_check',
    },
  },
}
