/** What comes of a command: how it ends, and some of what it prints. */
export interface Outcome {
  /** 0 unless something else is said. */
  code?: number
  says: RegExp
}

/**
 * The commands that test/documents runs, by their text, in this order, in a checkout with a Causeway that runs. One with
 * `<cpid>` or `<root>`, or a CPID of the documents, is given that of a cascade which is there.
 */
export const RUN_HERE: Readonly<Record<string, Outcome>> = {
  'node bin/node.js packages/control-plane/scenario.ts http://localhost:4318': {
    says: /^scaled in change [0-9a-f-]{36}\n5 Pods\n\d{2,} spans, \d+ log records\n$/,
  },
  'node bin/node.js examples/instrumented-controller/step-1-plain.ts': { says: /^updated Deployment to / },
  'node bin/node.js examples/instrumented-controller/step-3-changes.ts': {
    says: /^updated Deployment to web:2, change [0-9a-f-]{36}\n/,
  },
  'npx causeway validate --config otel-config.yaml': { says: /^$/ },
  // The Jaeger of the configuration is not there, which is what it is asked.
  'npx causeway doctor --config otel-config.yaml': { code: 1, says: /localhost:\d+[\s\S]*otlp_grpc\/jaeger/ },
  'npx causeway cascades --config otel-config.yaml': {
    says: /^root CPID +.*\n(.*\n)*[0-9a-f-]{36} .*apps\/v1\/deployments\/default\/web/,
  },
  "npx causeway cascade '<cpid>' --config otel-config.yaml": {
    says: /^cascade of <cpid> .*[\s\S]*time in spans/,
  },
  "npx causeway related '<cpid>' --config otel-config.yaml": {
    says: /^<cpid> .*v1\/configmaps\/default\/web$/m,
  },
  'npx causeway mergelogs --config otel-config.yaml': { says: /[0-9a-f-]{36}/ },
  'npx causeway sql "SELECT * FROM audit_cascades" --config otel-config.yaml': { says: /<cpid>/ },
  'npx causeway sql "SELECT * FROM audit_rejected_mergelogs LIMIT 20" --config otel-config.yaml': {
    says: /\(0 rows\)/,
  },
  'npx causeway sql "SELECT * FROM audit_set_aside" --config otel-config.yaml': { says: /\(0 rows\)/ },
  'sqlite3 -readonly data/causeway.db "SELECT * FROM audit_cascades"': { says: /<cpid>/ },
  "curl \'localhost:4319/api/v1/cpids/<cpid>/related\'": { says: /"related":\["<cpid>"/ },
  "curl \'localhost:4319/api/v1/cascades?object=web\'": { says: /<cpid>/ },
  "curl \'localhost:4319/api/v1/cascades/<root>\'": { says: /"criticalPath"/ },
  "curl \'localhost:4319/api/v1/find?q=web\'": { says: /apps\/v1\/deployments\/default\/web/ },
  "curl \'localhost:4319/api/v1/objects?ref=apps/v1/deployments/default/web\'": { says: /<cpid>/ },
  "curl \'localhost:4319/api/v1/objects/versions?ref=apps/v1/deployments/default/web\'": {
    says: /"versions":\[/,
  },
  "curl \'localhost:4319/api/v1/cascades?actor=alice\'": { says: /"cascades":\[/ },
  "curl \'localhost:4319/api/v1/cascades?namespace=shop&cause=operator\'": { says: /"cascades":\[/ },
  'sqlite3 -readonly data/causeway.db "VACUUM INTO \'/backup/causeway-$(date +%F).db\'"': { says: /^$/ },
  'sqlite3 /backup/causeway-$(date +%F).db "PRAGMA integrity_check"': { says: /ok/ },
  'npx causeway cascades --config otel-config.yaml --set connectors.cpid.storage.path=/backup/causeway-2026-01-31.db':
    { says: /<cpid>/ },
  'causeway salvage data/causeway.new.db --config otel-config.yaml': { says: /spans/ },
}

/** Those that want Causeway to have ended. */
export const RUN_AFTER_THE_END = ['causeway salvage data/causeway.new.db --config otel-config.yaml']
