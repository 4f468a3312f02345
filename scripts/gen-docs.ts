import { writeFileSync } from 'node:fs'
import { CLI_DOCS, renderCliDocs } from './gen-cli-docs.ts'
import { renderConfigDocs } from './gen-config-docs.ts'
import { INFERENCE_DOCS, renderInferenceDocs } from './gen-inference-docs.ts'
import { METRICS_DOCS, renderMetricsDocs } from './gen-metrics-docs.ts'

writeFileSync(new URL('../docs/config.md', import.meta.url), renderConfigDocs())
writeFileSync(METRICS_DOCS, renderMetricsDocs())
writeFileSync(CLI_DOCS, renderCliDocs())
writeFileSync(INFERENCE_DOCS, renderInferenceDocs())
