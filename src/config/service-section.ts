import type { TelemetryConfig } from './causeway-config.ts'
import {
  field,
  invalid,
  optionalField,
  refusedKeys,
  section,
  sections,
  type SettingsOf,
  UNSUPPORTED_COLLECTOR_KEY,
  type ValueKind,
} from './schema.ts'
import { choice, FLAG, TEXT, TEXT_LIST, wholeNumber } from './value-kinds.ts'
import { describeNode, isMap, type RawMap, valueOf } from './yaml-tree.ts'

const MAX_PORT = 65535
const METRICS_ONLY_HERE = "Causeway's own metrics are only served for scraping; write pull, or remove it"

const ALWAYS_TRUE: ValueKind<boolean> = {
  type: 'true',
  read: (node) => {
    const flag = FLAG.read(node)
    return flag === false ? invalid('metric names never carry this; write true or remove it') : flag
  },
}

const prometheus = section('Serves `/metrics`.', {
  host: field(TEXT, 'localhost', 'Address to listen on.'),
  port: field(wholeNumber(0, MAX_PORT), '8888', 'Port to listen on.'),
  without_type_suffix: field(ALWAYS_TRUE, 'true', 'Metric names have no type suffix.'),
  without_units: field(ALWAYS_TRUE, 'true', 'Metric names have no unit suffix.'),
  without_scope_info: field(ALWAYS_TRUE, 'true', 'No labels name the scope.'),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'with_resource_constant_labels', 'translation_strategy'),
})

const exporter = section('What a reader serves.', { prometheus })
const pull = section('A reader that waits to be scraped.', { exporter })
const reader = section('One reader.', { pull, ...refusedKeys(METRICS_ONLY_HERE, 'periodic') })

const logs = section("Causeway's own log, on stderr.", {
  level: field(
    choice(['debug', 'info', 'warn', 'error'], { anyCase: true }),
    'info',
    'The least level written.',
  ),
  encoding: field(choice(['console', 'json']), 'console', 'Lines for people, or JSON.'),
  ...refusedKeys(
    UNSUPPORTED_COLLECTOR_KEY,
    'development',
    'sampling',
    'output_paths',
    'error_output_paths',
    'initial_fields',
  ),
  ...refusedKeys(
    UNSUPPORTED_COLLECTOR_KEY,
    'disable_caller',
    'disable_stacktrace',
    'disable_zap_resource',
    'processors',
  ),
})

const metrics = section(
  "Causeway's own metrics.",
  {
    level: field(
      choice(['none', 'basic', 'normal', 'detailed'], { anyCase: true }),
      'normal',
      '`none` serves no metrics.',
    ),
    readers: sections('Where metrics are served; one at most.', '[{ pull: {} }]', reader),
    ...refusedKeys('write readers instead, with pull.exporter.prometheus.host and port', 'address'),
    ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'views', 'processors'),
  },
  [
    ({ readers }) =>
      readers.length > 1
        ? { key: 'readers', message: `one reader at most, got ${readers.length}; keep one` }
        : undefined,
  ],
)

export const telemetry = section('What Causeway tells about itself.', {
  logs,
  metrics,
  ...refusedKeys('Causeway sends no traces of itself; remove it', 'traces'),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'resource'),
})

export function buildTelemetry(settings: SettingsOf<typeof telemetry>): TelemetryConfig {
  const { level, readers } = settings.metrics
  const served = readers.at(0)?.pull.exporter.prometheus
  return {
    logLevel: settings.logs.level,
    logEncoding: settings.logs.encoding,
    metrics:
      level === 'none' || served === undefined ? undefined : { level, host: served.host, port: served.port },
  }
}

const PIPELINES: ValueKind<RawMap> = {
  type: 'map of pipelines',
  read: (node) => {
    const map = valueOf(node)
    return isMap(map)
      ? map
      : invalid(
          `must be a map such as { traces/in: { receivers: [otlp], exporters: [cpid] } }, got ${describeNode(map)}`,
        )
  },
}

export const service = section('What is switched on, and how it is joined.', {
  extensions: field(TEXT_LIST, '[]', 'The extensions that are on, by id.'),
  telemetry,
  pipelines: optionalField(
    PIPELINES,
    'The pipelines, by id: `traces`, `logs` or `metrics`, with `/name` where there are several of a signal.',
  ),
})

export const pipeline = section('One way of spans, log records or metrics through Causeway.', {
  receivers: field(TEXT_LIST, '[]', 'Where it comes from: receivers, or the cpid connector.'),
  processors: field(TEXT_LIST, '[]', 'Causeway has none; leave it out.'),
  exporters: field(
    TEXT_LIST,
    '[]',
    'Where it goes to: the cpid connector, or exporters; of metrics that come in, both.',
  ),
})
