/**
 * Which folders of src each folder may import; durable rows join the stages, so no stage lists another. A folder inside another
 * has a line of its own, and who lists the outer one may not import it. `app` puts all together. ARCHITECTURE.md has the same table.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  model: [],
  'model/otlp': ['model'],
  platform: ['model'],
  config: ['model'],
  'kube/objects': ['model'],
  'kube/cluster': ['model', 'platform', 'kube/objects'],
  'kube/inference': ['model', 'model/otlp'],
  receiver: ['model', 'model/otlp', 'platform', 'config', 'kube/objects', 'kube/cluster'],
  graph: ['model', 'model/otlp'],
  linker: ['model', 'model/otlp', 'graph'],
  store: ['model', 'model/otlp', 'platform', 'config', 'kube/inference', 'graph', 'linker', 'store/sqlite'],
  'store/sqlite': ['model', 'model/otlp'],
  exporter: ['model', 'model/otlp', 'platform', 'config', 'store/sqlite'],
  query: ['model', 'model/otlp', 'query/traceql'],
  'query/traceql': ['model', 'model/otlp'],
  'query/archive': ['model', 'platform', 'query'],
  'query/http': ['model', 'platform', 'query', 'query/traceql'],
  'query/grpc': ['model', 'model/otlp', 'platform', 'query', 'query/http', 'query/traceql'],
  'query/threads': ['model', 'platform', 'query', 'query/archive', 'store/sqlite'],
  extension: ['model', 'platform', 'config', 'query', 'query/archive', 'query/http', 'query/grpc'],
  importing: ['model', 'platform', 'config', 'kube/objects', 'kube/inference', 'store', 'store/sqlite'],
  cli: [
    'model',
    'platform',
    'config',
    'kube/cluster',
    'store',
    'store/sqlite',
    'exporter',
    'query',
    'query/archive',
    'query/threads',
    'importing',
    'app',
  ],
}

/**
 * Which folders of src each package may import. Those that may import some are commands of Causeway: `cli` lists `<name>-command.ts`
 * of each, which loads the rest when it is run; nothing else of src knows them.
 */
export const PACKAGE_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'control-plane': [],
  instrumentation: [],
  kubectl: ['model', 'kube/objects', 'kube/cluster', 'platform', 'cli'],
  'kubectl-plugin': [],
  salvage: ['model', 'model/otlp', 'store/sqlite', 'cli'],
}
