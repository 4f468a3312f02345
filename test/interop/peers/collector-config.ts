export type CollectorOptions = {
  /** Ports on 127.0.0.1 of the OTLP receiver. */
  readonly otlpGrpc: number
  readonly otlpHttp: number
  /** Port on 127.0.0.1 of the Collector's own metrics, at `/metrics`. */
  readonly metrics: number
  /** Sends on to this OTLP server without TLS: `127.0.0.1:14317`. Jaeger refuses logs, which are then dropped. */
  readonly exportTo?: string
  /** How it does so; gRPC unless given. */
  readonly exportOver?: 'grpc' | 'http'
  /** How it compresses what it sends; its own default unless given. */
  readonly compression?: string
  /** Appends each batch to this file as a line of OTLP/JSON, whatever the signal. */
  readonly writeTo?: string
  /** Keeps the sending queue in this directory, so that it outlives the process. */
  readonly queueDirectory?: string
}

/**
 * Writes the configuration of a Collector that takes traces and logs over OTLP and passes them on.
 *
 * Without `writeTo` it prints what it receives on its standard error.
 */
export function collectorConfig(options: CollectorOptions): string {
  const exporters = [
    ...(options.exportTo === undefined ? [] : [otlpExporter(options.exportTo, options)]),
    ...(options.writeTo === undefined ? [] : [fileExporter(options.writeTo)]),
  ]
  // Metrics go no further than the Collector.
  if (options.writeTo === undefined) exporters.push(debugExporter)
  const exporterIds = exporters.map((exporter) => exporter.id).join(', ')
  const storage = options.queueDirectory === undefined ? undefined : fileStorage(options.queueDirectory)

  return `receivers:
  otlp:
    protocols:
      grpc: { endpoint: "127.0.0.1:${options.otlpGrpc}" }
      http: { endpoint: "127.0.0.1:${options.otlpHttp}" }
processors:
  batch: { timeout: 100ms }
exporters:
${exporters.map((exporter) => exporter.yaml).join('\n')}
${storage ?? 'extensions: {}'}
service:
  extensions: [${storage === undefined ? '' : 'file_storage'}]
  telemetry:
    logs: { level: info }
    metrics:
      level: detailed
      readers:
        - pull: { exporter: { prometheus: { host: "127.0.0.1", port: ${options.metrics} } } }
  pipelines:
    traces: { receivers: [otlp], processors: [batch], exporters: [${exporterIds}] }
    logs: { receivers: [otlp], processors: [batch], exporters: [${exporterIds}] }
    metrics: { receivers: [otlp], processors: [batch], exporters: [${options.writeTo === undefined ? 'debug' : 'file'}] }
`
}

type ExporterSection = { readonly id: string; readonly yaml: string }

const debugExporter: ExporterSection = { id: 'debug', yaml: '  debug: { verbosity: detailed }' }

/** Retries soon and for ever, so that a test that stops and starts the receiver need not wait long. */
function otlpExporter(endpoint: string, options: CollectorOptions): ExporterSection {
  const storage = options.queueDirectory === undefined ? '' : ', storage: file_storage'
  const id = `otlp_${options.exportOver ?? 'grpc'}`
  return {
    id,
    yaml: `  ${id}:
    endpoint: ${yamlString(id === 'otlp_http' ? `http://${endpoint}` : endpoint)}
    tls: { insecure: true }
    timeout: 30s${options.compression === undefined ? '' : `\n    compression: ${options.compression}`}
    retry_on_failure: { enabled: true, initial_interval: 100ms, max_interval: 1s, max_elapsed_time: 0s }
    sending_queue: { enabled: true, queue_size: 1000${storage} }`,
  }
}

function fileExporter(path: string): ExporterSection {
  return { id: 'file', yaml: `  file: { path: ${yamlString(path)}, append: true, flush_interval: 100ms }` }
}

function fileStorage(directory: string): string {
  return `extensions:
  file_storage: { directory: ${yamlString(directory)}, create_directory: true }`
}

/** A JSON string is also a YAML one; a lone `$` would begin an expansion. */
function yamlString(text: string): string {
  return JSON.stringify(text.replaceAll('$', '$$$$'))
}
