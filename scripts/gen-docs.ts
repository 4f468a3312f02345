import { writeFileSync } from 'node:fs'
import { renderConfigDocs } from './gen-config-docs.ts'
import { METRICS_DOCS, renderMetricsDocs } from './gen-metrics-docs.ts'

writeFileSync(new URL('../docs/config.md', import.meta.url), renderConfigDocs())
writeFileSync(METRICS_DOCS, renderMetricsDocs())
