import type { HealthCheckConfig, Listener } from '../causeway-config.ts'
import { LISTEN_ENDPOINT } from '../schema/endpoint.ts'
import { field, NOT_HERE, refusedKeys } from '../schema/field.ts'
import { section } from '../schema/section.ts'
import { componentType } from './component-type.ts'
import { URL_PATH } from './url-kinds.ts'

export type ExtensionConfig =
  { kind: 'health_check'; settings: HealthCheckConfig } | { kind: 'cpid_query'; settings: Listener }

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
  }),
  (_id, settings): ExtensionConfig => ({ kind: 'cpid_query', settings: settings.endpoint }),
)
