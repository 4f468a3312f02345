import type { SentSignal, Signal } from '../model/ingest.ts'
import type {
  CausewayConfig,
  ConnectorSettings,
  ExporterConfig,
  ExtensionConfig,
  ReceiverConfig,
} from './causeway-config.ts'
import type { Built } from './check/read-components.ts'
import type { Pipeline } from './check/read-pipelines.ts'
import type { Sections } from './check/read-sections.ts'
import type { ExporterDeclaration, ReceiverDeclaration } from './component-type.ts'
import { listenersOf } from './listeners.ts'
import { present } from './parts/present.ts'
import { buildTelemetry, telemetry } from './service/telemetry.ts'
import { readSettings } from './schema/read-settings.ts'
import { childOf } from './tree/raw-node.ts'

const SENT_SIGNALS: readonly SentSignal[] = ['traces', 'logs', 'metrics']

/** The typed configuration, once nothing is wrong with any section. */
export function buildConfig(sections: Sections): CausewayConfig {
  const { receivers, exporters, connectors, service, tree } = sections
  const [cpid] = connectors.built.values()
  const told = readSettings(telemetry, childOf(tree['service'], 'telemetry'), ['service', 'telemetry'])
  if (cpid === undefined || told.kind === 'faulty')
    throw new Error('a faulty configuration passed its checks')
  const outgoing = service.pipelines.filter((pipeline) => pipeline.receivers.includes(cpid.id))
  const outTraces = exportersOf(outgoing, 'traces')
  const outLogs = exportersOf(outgoing, 'logs')
  const outMetrics = exportersOf(outgoing, 'metrics')
  const sends = { traces: outTraces, logs: outLogs, metrics: outMetrics }
  return {
    receivers: [...receivers.built.values()]
      .map((receiver) => buildReceiver(receiver, signalsOf(receiver.id, service.pipelines)))
      .filter(({ signals }) => signals.length > 0),
    cpid: { id: cpid.id, ...(cpid.settings as ConnectorSettings) },
    exporters: [...exporters.built.values()]
      .map((exporter) => buildExporter(exporter, signalsTo(exporter.id, sends)))
      .filter(({ destinations }) => Object.keys(destinations).length > 0),
    extensions: extensionsOf(sections),
    telemetry: buildTelemetry(told.settings),
    pipelines: { outTraces, outLogs, outMetrics },
  }
}

function buildReceiver(receiver: Built<ReceiverDeclaration>, signals: Signal[]): ReceiverConfig {
  const { id, type, settings } = receiver
  return { id, type: type.name, settings, listeners: listenersOf('receivers', receiver), signals }
}

function buildExporter(
  { id, type, settings }: Built<ExporterDeclaration>,
  signals: readonly SentSignal[],
): ExporterConfig {
  const destinations = signals.map((signal) => [signal, type.destination(settings, signal)])
  return {
    id,
    type: type.name,
    settings,
    ...present({ auth: type.auth?.(settings) }),
    destinations: Object.fromEntries(destinations) as ExporterConfig['destinations'],
    sending: type.sending(settings),
  }
}

/** Those that are on, and of the types that are at work without being named those of which none is. */
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

function signalsTo(id: string, sends: Readonly<Record<SentSignal, readonly string[]>>): SentSignal[] {
  return SENT_SIGNALS.filter((signal) => sends[signal].includes(id))
}

function exportersOf(pipelines: readonly Pipeline[], signal: SentSignal): string[] {
  return [...new Set(pipelines.filter((one) => one.signal === signal).flatMap(({ exporters }) => exporters))]
}

function signalsOf(receiver: string, pipelines: readonly Pipeline[]): Signal[] {
  const signals = pipelines
    .filter(({ receivers }) => receivers.includes(receiver))
    .flatMap(({ signal }) => (signal === 'metrics' ? [] : [signal]))
  return [...new Set(signals)]
}
