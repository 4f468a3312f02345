/** The ports of one Jaeger, all on 127.0.0.1. */
export type JaegerPorts = {
  readonly otlpGrpc: number
  readonly otlpHttp: number
  /** The HTTP query API and the page. */
  readonly query: number
  /** Answers `/status` with 200 once Jaeger is up. */
  readonly health: number
  /** Jaeger's own metrics, at `/metrics`. */
  readonly metrics: number
}

const IN_MEMORY = 'memory: { max_traces: 100000 }'

/** A backend that Jaeger asks over gRPC, such as 127.0.0.1:4319. */
export const remoteStorage = (endpoint: string): string =>
  `grpc: { endpoint: "${endpoint}", tls: { insecure: true } }`

/**
 * Writes the configuration of a Jaeger that keeps everything in memory, unless another storage is given.
 *
 * There is no batch processor, so what Jaeger has acknowledged is there for the next query. The gRPC query API, which
 * cannot be turned off, gets whatever port is free. Jaeger's spans about itself are off: they would go to whatever
 * listens on 4317.
 */
export function jaegerConfig(ports: JaegerPorts, storage = IN_MEMORY): string {
  return `receivers:
  otlp:
    protocols:
      grpc: { endpoint: "127.0.0.1:${ports.otlpGrpc}" }
      http: { endpoint: "127.0.0.1:${ports.otlpHttp}" }
exporters:
  jaeger_storage_exporter: { trace_storage: kept }
extensions:
  jaeger_storage:
    backends:
      kept: { ${storage} }
  jaeger_query:
    storage: { traces: kept }
    http: { endpoint: "127.0.0.1:${ports.query}" }
    grpc: { endpoint: "127.0.0.1:0" }
    enable_tracing: false
  healthcheckv2:
    use_v2: true
    http: { endpoint: "127.0.0.1:${ports.health}" }
service:
  extensions: [jaeger_storage, jaeger_query, healthcheckv2]
  telemetry:
    logs: { level: info }
    metrics:
      readers:
        - pull: { exporter: { prometheus: { host: "127.0.0.1", port: ${ports.metrics} } } }
  pipelines:
    traces: { receivers: [otlp], exporters: [jaeger_storage_exporter] }
`
}
