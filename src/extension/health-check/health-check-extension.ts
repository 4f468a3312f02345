import { componentType } from '../../config/component-type.ts'
import { field, refusedKeys, section, UNSUPPORTED_COLLECTOR_KEY } from '../../config/schema.ts'
import { type Endpoint, LISTEN_ENDPOINT, URL_PATH } from '../../config/value-kinds.ts'
import type { ExtensionType } from '../extension-type.ts'

export interface HealthCheckSettings extends Endpoint {
  path: string
}

export const healthCheckExtension: ExtensionType<HealthCheckSettings> = {
  ...componentType({
    name: 'health_check',
    schema: section('Answers 200 once all ports are open and the database is ready, and 503 otherwise.', {
      endpoint: field(LISTEN_ENDPOINT, 'localhost:13133', 'The address and port to listen on.'),
      path: field(URL_PATH, '/', 'The URL path of the health check.'),
      ...refusedKeys(UNSUPPORTED_COLLECTOR_KEY, 'tls', 'auth', 'cors', 'response_body', 'response_headers'),
      ...refusedKeys(
        UNSUPPORTED_COLLECTOR_KEY,
        'check_collector_pipeline',
        'use_v2',
        'http',
        'grpc',
        'component_health',
      ),
    }),
    build: ({ endpoint, path }): HealthCheckSettings => ({ ...endpoint, path }),
  }),
  listeners: ({ host, port, path }) => [{ host, port, what: 'health check', page: { path, status: 200 } }],
  startsFirst: true,
  load: () => import('./health-server.ts'),
}
