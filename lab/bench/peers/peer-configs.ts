/** Ports on 127.0.0.1. */
interface PeerPorts {
  grpc: number
  http: number
}

/** JSON is YAML too. */
type Config = object

/**
 * A Collector without a batch processor: it answers once the request is in the persistent queue of its exporter. It
 * waits rather than refuses when the queue is full, which it never is.
 */
export function collectorConfig(
  { grpc, http }: PeerPorts,
  data: string,
  sink: number,
  fsync: boolean,
): Config {
  return {
    receivers: otlp(grpc, http),
    exporters: {
      otlp_grpc: {
        endpoint: at(sink),
        tls: { insecure: true },
        sending_queue: { storage: 'file_storage', queue_size: 1_000_000, block_on_overflow: true },
      },
    },
    extensions: { file_storage: { directory: path(data), create_directory: true, fsync } },
    service: {
      extensions: ['file_storage'],
      telemetry: { logs: { level: 'warn' }, metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlp_grpc'] } },
    },
  }
}

/** A Jaeger without a batch processor: it answers once the spans are with Badger, whose settings are its defaults. */
export function jaegerConfig({ grpc, http }: PeerPorts, data: string, query: number): Config {
  const directories = { keys: path(`${data}/keys`), values: path(`${data}/values`) }
  return {
    receivers: otlp(grpc, http),
    exporters: { jaeger_storage_exporter: { trace_storage: 'badger' } },
    extensions: {
      jaeger_storage: { backends: { badger: { badger: { ephemeral: false, directories } } } },
      jaeger_query: {
        storage: { traces: 'badger' },
        http: { endpoint: at(query) },
        grpc: { endpoint: at(0) },
        enable_tracing: false,
      },
    },
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      telemetry: { logs: { level: 'warn' }, metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['jaeger_storage_exporter'] } },
    },
  }
}

function otlp(grpc: number, http: number): Config {
  return { otlp: { protocols: { grpc: { endpoint: at(grpc) }, http: { endpoint: at(http) } } } }
}

function at(port: number): string {
  return `127.0.0.1:${port}`
}

/** A lone `$` would begin an expansion. */
function path(text: string): string {
  return text.replaceAll('$', '$$$$')
}
