import type { HealthCheckConfig, QueryConfig } from '../causeway-config.ts'
import { LISTEN_ENDPOINT } from '../schema/endpoint.ts'
import { field, NOT_HERE, optionalField, refusedKeys } from '../schema/field.ts'
import { section } from '../schema/section.ts'
import { componentType } from './component-type.ts'
import { present } from './present.ts'
import { TRACE_URL, URL_PATH } from './url-kinds.ts'

export type ExtensionConfig =
  { kind: 'health_check'; settings: HealthCheckConfig } | { kind: 'cpid_query'; settings: QueryConfig }

export const healthCheck = componentType(
  section('Answers 200 once all listeners are bound and the database is ready, and 503 before.', {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:13133', 'Where to listen.'),
    path: field(URL_PATH, '/', 'The path that answers.'),
    ...refusedKeys(NOT_HERE, 'tls', 'auth', 'cors', 'response_body', 'response_headers'),
    ...refusedKeys(NOT_HERE, 'check_collector_pipeline', 'use_v2', 'http', 'grpc', 'component_health'),
  }),
  (_id, settings): ExtensionConfig => ({
    kind: 'health_check',
    settings: { ...settings.endpoint, path: settings.path },
  }),
)

export const cpidQuery = componentType(
  section('The HTTP API and the dashboard.', {
    endpoint: field(LISTEN_ENDPOINT, 'localhost:4319', 'Where to listen.'),
    trace_url: optionalField(
      TRACE_URL,
      'Where a trace can be seen, for the links of the dashboard: `http://localhost:16686/trace/{trace_id}`; ' +
        '`{span_id}` is filled in too.',
    ),
  }),
  (_id, settings): ExtensionConfig => ({
    kind: 'cpid_query',
    settings: { ...settings.endpoint, ...present({ traceUrl: settings.trace_url }) },
  }),
)
