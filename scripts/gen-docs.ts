import { writeFileSync } from 'node:fs'
import { API_DOCS, renderApiDocs } from './gen-api-docs.ts'
import { AUDIT_VIEWS_DOCS, renderAuditViewsDocs } from './gen-audit-docs.ts'
import { CLI_DOCS, renderCliDocs } from './gen-cli-docs.ts'
import { CONFIG_DOCS, renderConfigDocs } from './gen-config-docs.ts'
import { INFERENCE_DOCS, renderInferenceDocs } from './gen-inference-docs.ts'
import { LIMITS_DOCS, renderLimitsDocs } from './gen-limits-docs.ts'
import { METRICS_DOCS, renderMetricsDocs } from './gen-metrics-docs.ts'
import { renderTraceQlParser, TRACEQL_PARSER } from './gen-traceql.ts'

writeFileSync(API_DOCS, renderApiDocs())
writeFileSync(AUDIT_VIEWS_DOCS, await renderAuditViewsDocs())
writeFileSync(CLI_DOCS, renderCliDocs())
writeFileSync(CONFIG_DOCS, renderConfigDocs())
writeFileSync(INFERENCE_DOCS, renderInferenceDocs())
writeFileSync(LIMITS_DOCS, renderLimitsDocs())
writeFileSync(METRICS_DOCS, renderMetricsDocs())
writeFileSync(TRACEQL_PARSER, renderTraceQlParser())
