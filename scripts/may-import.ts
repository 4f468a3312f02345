/**
 * Which folders of src each folder may import; durable rows join the stages, so no stage lists another. `app` puts all
 * together. ARCHITECTURE.md has the same table.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  otlp: ['model'],
  kubernetes: ['model'],
  cluster: ['model', 'kubernetes'],
  inference: ['model', 'otlp'],
  dag: ['model'],
  config: ['model'],
  trust: ['model'],
  listeners: ['model'],
  telemetry: ['model', 'listeners', 'trust'],
  threads: ['model', 'config', 'graph', 'inference', 'query'],
  store: ['model', 'otlp', 'inference', 'graph', 'linker', 'telemetry', 'threads'],
  receiver: ['model', 'otlp', 'kubernetes', 'cluster', 'trust', 'listeners', 'config', 'threads'],
  graph: ['model', 'otlp', 'dag'],
  linker: ['model', 'otlp', 'dag'],
  exporter: ['model', 'otlp', 'trust', 'config'],
  extension: ['model', 'api', 'telemetry', 'trust', 'listeners', 'config'],
  connector: ['model', 'config'],
  query: ['model', 'otlp'],
  api: ['model', 'query', 'trust', 'listeners'],
  sqlite: ['model', 'otlp'],
  cli: ['model', 'cluster', 'config', 'trust', 'query', 'threads', 'app'],
}

/**
 * Which folders of src each package may import. Those that may import some are commands of Causeway: `cli` lists `<name>-command.ts`
 * of each, which loads the rest when it is run; nothing else of src knows them.
 */
export const PACKAGE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'control-plane': [],
  instrumentation: [],
  kubectl: ['model', 'kubernetes', 'cluster', 'trust', 'cli'],
  salvage: ['model', 'otlp', 'sqlite', 'cli'],
}
