import type { Findings } from '../findings.ts'
import type { Sections } from './read-sections.ts'

/** What receives and what is sent to takes the signal of each pipeline that names it. */
export function checkSignals({ receivers, exporters, service }: Sections, findings: Findings): void {
  for (const { path, signal, receivers: froms, exporters: tos } of service.pipelines) {
    for (const id of new Set(froms)) {
      const type = receivers.built.get(id)?.type
      if (type === undefined || signal === 'metrics' || type.signals.includes(signal)) continue
      findings.mistake(`receivers::${id}`, `receives no ${signal}; take it out of ${path}`)
    }
    for (const id of new Set(tos)) {
      const exporter = exporters.built.get(id)
      if (exporter === undefined) continue
      const { type, settings } = exporter
      const reason = type.signals.includes(signal)
        ? type.refuses?.(settings, signal, path)
        : `sends no ${signal}; take it out of ${path}`
      if (reason !== undefined) findings.mistake(`exporters::${id}`, reason)
    }
  }
}
