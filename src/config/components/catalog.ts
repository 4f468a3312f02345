import type { CpidConfig, ExporterConfig } from '../causeway-config.ts'
import type { ComponentType } from './component-type.ts'
import { cpidConnector } from './cpid-connector.ts'
import { debugExporter } from './exporters/debug-exporter.ts'
import { basicAuth, bearerTokenAuth } from './auth-extensions.ts'
import { asExtension, cpidQuery, healthCheck, type ExtensionConfig } from './extensions.ts'
import { memoryLimiter } from './memory-limiter.ts'
import { otlpGrpcExporter } from './exporters/otlp-grpc-exporter.ts'
import { otlpHttpExporter } from './exporters/otlp-http-exporter.ts'
import { otlpReceiver, type ReceiverWithoutSignals } from './otlp-receiver.ts'

/** The types of one section of the configuration, by name. */
export interface TypeTable<Built> {
  readonly types: ReadonlyMap<string, ComponentType<Built>>
  /** Older names of the same types. */
  readonly aliases: ReadonlyMap<string, string>
}

const table = <Built>(
  types: Record<string, ComponentType<Built>>,
  aliases: Record<string, string> = {},
): TypeTable<Built> => ({ types: new Map(Object.entries(types)), aliases: new Map(Object.entries(aliases)) })

export const RECEIVERS: TypeTable<ReceiverWithoutSignals> = table({ otlp: otlpReceiver })

/** Causeway has none; the section is read so that each one in it can be named. */
export const PROCESSORS: TypeTable<never> = table({})

export const EXPORTERS: TypeTable<ExporterConfig> = table<ExporterConfig>(
  { debug: debugExporter, otlp_grpc: otlpGrpcExporter, otlp_http: otlpHttpExporter },
  { otlp: 'otlp_grpc', otlphttp: 'otlp_http' },
)

export const CONNECTORS: TypeTable<CpidConfig> = table({ cpid: cpidConnector })

export const EXTENSIONS: TypeTable<ExtensionConfig> = table({
  basicauth: asExtension(basicAuth),
  bearertokenauth: asExtension(bearerTokenAuth),
  cpid_query: cpidQuery,
  health_check: healthCheck,
  memory_limiter: memoryLimiter,
})

/** The type that a name or an older name stands for. */
export function typeOf<Built>(
  { types, aliases }: TypeTable<Built>,
  name: string,
): ComponentType<Built> | undefined {
  return types.get(aliases.get(name) ?? name)
}
