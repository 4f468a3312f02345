/** The ports of one Jaeger, all on 127.0.0.1. */
export type JaegerPorts = {
  readonly otlpGrpc: number
  readonly otlpHttp: number
  /** The HTTP query API and the page. */
  readonly query: number
  readonly health: number
  /** Jaeger's own metrics, at `/metrics`. */
  readonly metrics: number
}

/**
 * Writes the configuration of a Jaeger that keeps everything in memory.
 *
 * There is no batch processor, so what Jaeger has acknowledged is there for the next query. The gRPC query API, which
 * cannot be turned off, gets whatever port is free.
 */
export function jaegerConfig(ports: JaegerPorts): string {
  return `receivers:
  otlp:
    protocols:
      grpc: { endpoint: "127.0.0.1:${ports.otlpGrpc}" }
      http: { endpoint: "127.0.0.1:${ports.otlpHttp}" }
exporters:
  jaeger_storage_exporter: { trace_storage: memory }
extensions:
  jaeger_storage:
    backends:
      memory: { memory: { max_traces: 100000 } }
  jaeger_query:
    storage: { traces: memory }
    http: { endpoint: "127.0.0.1:${ports.query}" }
    grpc: { endpoint: "127.0.0.1:0" }
  healthcheckv2:
    use_v2: true
    http: { endpoint: "127.0.0.1:${ports.health}" }
    grpc:
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
