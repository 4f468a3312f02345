import type { SentSignal, Signal } from '../model/ingest.ts'
import type { CausewayConfig } from './causeway-config.ts'
import type { Pipeline } from './check/read-pipelines.ts'
import type { Sections } from './check/read-sections.ts'
import { DEFAULT_MEMORY_LIMITER } from './components/memory-limiter.ts'
import { present } from './components/present.ts'
import { buildTelemetry, telemetry } from './components/telemetry.ts'
import { readSettings } from './schema/read-settings.ts'
import { childOf } from './tree/raw-node.ts'

/** The typed configuration, once nothing is wrong with any section. */
export function buildConfig(sections: Sections): CausewayConfig {
  const { receivers, exporters, connectors, extensions, service, tree } = sections
  const [cpid] = connectors.built.values()
  const told = readSettings(telemetry, childOf(tree['service'], 'telemetry'), ['service', 'telemetry'])
  if (cpid === undefined || told.kind === 'faulty')
    throw new Error('a faulty configuration passed its checks')
  const outgoing = service.pipelines.filter((pipeline) => pipeline.receivers.includes(cpid.id))
  const outTraces = exportersOf(outgoing, 'traces')
  const outLogs = exportersOf(outgoing, 'logs')
  const outMetrics = exportersOf(outgoing, 'metrics')
  const sends = new Set([...outTraces, ...outLogs, ...outMetrics])
  const on = service.extensions.map((id) => extensions.built.get(id))
  return {
    receivers: [...receivers.built.values()]
      .map((receiver) => ({ ...receiver, signals: signalsOf(receiver.id, service.pipelines) }))
      .filter(({ signals }) => signals.length > 0),
    cpid,
    exporters: [...exporters.built.values()].filter(({ id }) => sends.has(id)),
    ...present({
      healthCheck: on.find((extension) => extension?.kind === 'health_check')?.settings,
      query: on.find((extension) => extension?.kind === 'cpid_query')?.settings,
    }),
    memoryLimiter:
      on.find((extension) => extension?.kind === 'memory_limiter')?.settings ?? DEFAULT_MEMORY_LIMITER,
    authenticators: on.flatMap((extension) =>
      extension?.kind === 'authenticator' ? [extension.settings] : [],
    ),
    telemetry: buildTelemetry(told.settings),
    pipelines: { outTraces, outLogs, outMetrics },
  }
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
