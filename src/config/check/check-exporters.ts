import type { Findings } from '../findings.ts'
import type { Sections } from './read-sections.ts'

/** An HTTP exporter has a URL for every signal it is given. */
export function checkExporters({ exporters, service }: Sections, findings: Findings): void {
  for (const { path, signal, exporters: ids } of service.pipelines) {
    for (const id of new Set(ids)) {
      const exporter = exporters.built.get(id)
      if (exporter?.kind !== 'otlp_http') continue
      const urls = { traces: exporter.tracesUrl, logs: exporter.logsUrl, metrics: exporter.metricsUrl }
      if (urls[signal] !== undefined) continue
      findings.mistake(
        `exporters::${id}`,
        `either endpoint or ${signal}_endpoint must be specified, because ${path} sends ${signal} here`,
      )
    }
  }
}
