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

const prometheus = section('Serves metrics to Prometheus at `/metrics`.', {
  host: field(TEXT, 'localhost', 'The address to listen on.'),
  port: field(wholeNumber(0, MAX_PORT), '8888', 'The port to listen on.'),
  without_type_suffix: field(
    ALWAYS_TRUE,
    'true',
    'Metric names have no suffix for the type. Only `true` is supported.',
  ),
  without_units: field(
    ALWAYS_TRUE,
    'true',
    'Metric names have no suffix for the unit. Only `true` is supported.',
  ),
  without_scope_info: field(
    ALWAYS_TRUE,
    'true',
    'Metrics have no labels for the instrumentation scope. Only `true` is supported.',
  ),
  ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'with_resource_constant_labels', 'translation_strategy'),
})

const exporter = section('The format in which metrics are served.', { prometheus })
const pull = section('A reader that serves metrics for scraping.', { exporter })
const reader = section('One reader.', { pull, ...refusedKeys(METRICS_ONLY_HERE, 'periodic') })

const logs = section("Causeway's own log, which it writes to stderr.", {
  level: field(
    choice(['debug', 'info', 'warn', 'error'], { anyCase: true }),
    'info',
    'The lowest level that is written.',
  ),
  encoding: field(
    choice(['console', 'json']),
    'console',
    'The format of the log. `console` writes lines for people, and `json` one JSON object in each line.',
  ),
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
      'Whether metrics are served. `none` serves none, and every other level serves all.',
    ),
    readers: sections('Where metrics are served. At most one reader is supported.', '[{ pull: {} }]', reader),
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

export const telemetry = section("Causeway's own logs and metrics.", {
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

export const service = section("Which extensions and pipelines are on, and Causeway's own telemetry.", {
  extensions: field(TEXT_LIST, '[]', 'The ids of the extensions that are on.'),
  telemetry,
  pipelines: optionalField(
    PIPELINES,
    'The pipelines by their ids. An id is `traces`, `logs` or `metrics`, followed by `/name` if there are several for one signal.',
  ),
})

export const pipeline = section('A path of spans, log records or metrics through Causeway.', {
  receivers: field(
    TEXT_LIST,
    '[]',
    'The ids of what the data comes from: receivers, or the `cpid` connector.',
  ),
  processors: field(TEXT_LIST, '[]', 'Causeway has no processors. Leave this key out.'),
  exporters: field(
    TEXT_LIST,
    '[]',
    'The ids of what the data goes to: the `cpid` connector, or exporters. A pipeline for incoming metrics may name both.',
  ),
})
