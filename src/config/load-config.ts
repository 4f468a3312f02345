import { type Signal, SIGNALS } from '../model/otlp-requests.ts'
import type {
  CausewayConfig,
  ConnectorSettings,
  ExporterConfig,
  ExtensionConfig,
  ReceiverConfig,
} from './causeway-config.ts'
import {
  checkAuthenticators,
  checkConnectors,
  checkExtensions,
  checkListeners,
  checkReferences,
  checkSignals,
  warnOfExposure,
} from './check-config.ts'
import type { Declarations, ExporterDeclaration, ReceiverDeclaration } from './component-type.ts'
import {
  type Built,
  isEmpty,
  listenersOf,
  type Pipeline,
  readSections,
  type Sections,
} from './read-sections.ts'
import { type ConfigInput, resolveTree } from './resolve-tree.ts'
import { Findings, readSettings, withoutUndefined } from './schema.ts'
import { buildTelemetry, telemetry } from './service-section.ts'
import { childOf, type RawMap } from './yaml-tree.ts'

export interface LoadedConfig {
  config: CausewayConfig
  /** The merged tree with references resolved, which print-config prints. */
  raw: RawMap
  warnings: string[]
}

/** Reads, merges and validates a configuration. Throws ConfigError with all its mistakes. */
export function loadConfig(input: ConfigInput, declarations: Declarations): LoadedConfig {
  const findings = new Findings()
  const raw = resolveTree(input, findings)
  const sections = readSections(raw, declarations, findings)
  if (isEmpty(sections)) {
    findings.mistakes.unshift({ path: '', message: EMPTY })
    throw findings.error()
  }
  checkReferences(sections, findings)
  checkConnectors(sections, findings)
  checkSignals(sections, findings)
  checkExtensions(sections, findings)
  checkListeners(sections, findings)
  checkAuthenticators(sections, findings)
  if (findings.mistakes.length > 0) throw findings.error()
  const config = buildConfig(sections)
  warnOfExposure(config, findings)
  return { config, raw, warnings: findings.warnings }
}

const EMPTY = 'empty configuration file; begin with the otel-config.yaml that comes with Causeway'

/** Builds the typed configuration; all sections must be valid. */
function buildConfig(sections: Sections): CausewayConfig {
  const { receivers, exporters, connectors, service, tree } = sections
  const [cpid] = connectors.built.values()
  const telemetryReading = readSettings(telemetry, childOf(tree['service'], 'telemetry'), [
    'service',
    'telemetry',
  ])
  if (cpid === undefined || telemetryReading.kind === 'faulty')
    throw new Error('a faulty configuration passed its checks')
  const outgoing = service.pipelines.filter((pipeline) => pipeline.receivers.includes(cpid.id))
  const outTraces = exportersOf(outgoing, 'traces')
  const outLogs = exportersOf(outgoing, 'logs')
  const outMetrics = exportersOf(outgoing, 'metrics')
  const incoming = service.pipelines.filter((pipeline) => !outgoing.includes(pipeline))
  const forwardedMetrics = exportersOf(incoming, 'metrics').filter((id) => id !== cpid.id)
  const sends = { traces: outTraces, logs: outLogs, metrics: [...outMetrics, ...forwardedMetrics] }
  return {
    receivers: [...receivers.built.values()]
      .map((receiver) => buildReceiver(receiver, signalsOf(receiver.id, service.pipelines)))
      .filter(({ signals }) => signals.length > 0),
    cpid: { id: cpid.id, ...(cpid.settings as ConnectorSettings) },
    exporters: [...exporters.built.values()]
      .map((exporter) => buildExporter(exporter, signalsTo(exporter.id, sends)))
      .filter(({ destinations }) => Object.keys(destinations).length > 0),
    extensions: extensionsOf(sections),
    telemetry: buildTelemetry(telemetryReading.settings),
    pipelines: { outTraces, outLogs, outMetrics, forwardedMetrics },
  }
}

function buildReceiver(receiver: Built<ReceiverDeclaration>, signals: Signal[]): ReceiverConfig {
  const { id, type, settings } = receiver
  return { id, type: type.name, settings, listeners: listenersOf('receivers', receiver), signals }
}

function buildExporter(
  { id, type, settings }: Built<ExporterDeclaration>,
  signals: readonly Signal[],
): ExporterConfig {
  const destinations = signals.map((signal) => [signal, type.destination(settings, signal)])
  return {
    id,
    type: type.name,
    settings,
    ...withoutUndefined({ auth: type.auth?.(settings), isArchive: type.isArchive }),
    destinations: Object.fromEntries(destinations) as ExporterConfig['destinations'],
    sending: type.sending(settings),
  }
}

/** The active extensions: those that are configured and on, and the default one of each type that is on by default. */
function extensionsOf({ extensions, service, declarations }: Sections): ExtensionConfig[] {
  const on = [...new Set(service.extensions)].flatMap((id) => extensions.built.get(id) ?? [])
  const unnamed = declarations.extensions
    .filter((type) => !on.some((extension) => extension.type === type))
    .flatMap((type) =>
      type.unnamed === undefined ? [] : [{ id: type.name, type, settings: type.unnamed() }],
    )
  return [...on, ...unnamed].map((extension) => {
    const { id, type, settings } = extension
    return { id, type: type.name, settings, listeners: listenersOf('extensions', extension) }
  })
}

function signalsTo(id: string, sends: Readonly<Record<Signal, readonly string[]>>): Signal[] {
  return SIGNALS.filter((signal) => sends[signal].includes(id))
}

function exportersOf(pipelines: readonly Pipeline[], signal: Signal): string[] {
  return [...new Set(pipelines.filter((one) => one.signal === signal).flatMap(({ exporters }) => exporters))]
}

function signalsOf(receiver: string, pipelines: readonly Pipeline[]): Signal[] {
  const signals = pipelines
    .filter(({ receivers }) => receivers.includes(receiver))
    .map(({ signal }) => signal)
  return [...new Set(signals)]
}
