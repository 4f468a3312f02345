import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { mistakesIn, WITH_EXPORTER } from './load-text.ts'

const KEYS = [
  'receivers',
  'receivers::otlp',
  'receivers::otlp::protocols',
  'receivers::otlp::protocols::grpc',
  'receivers::otlp::protocols::grpc::tls',
  'receivers::otlp::protocols::http',
  'receivers::otlp::protocols::http::cors',
  'connectors',
  'connectors::cpid',
  'connectors::cpid::linking',
  'connectors::cpid::retention',
  'exporters',
  'exporters::otlp_grpc',
  'exporters::otlp_grpc::endpoint',
  'exporters::otlp_grpc::tls',
  'exporters::otlp_grpc::headers',
  'exporters::otlp_grpc::sending_queue::batch',
  'exporters::otlp_http',
  'extensions',
  'service',
  'service::extensions',
  'service::telemetry::metrics',
  'service::telemetry::metrics::readers',
  'service::pipelines',
  'service::pipelines::traces/in',
  'service::pipelines::traces/out::exporters',
]
const name = fc.constantFrom(
  'otlp',
  'cpid',
  'endpoint',
  'tls',
  'wait',
  'x y',
  '${env:1}',
  'a\u009b31m\u202eb\u001b',
  '${env:NONE}',
  '$$',
  '',
)
const node = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.string(),
    name,
    fc.array(tie('node')),
    fc.dictionary(name, tie('node')),
  ),
})).node

test('whatever is written, the answer is a configuration or mistakes', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...KEYS), node), { minLength: 1, maxLength: 3 }),
      (faults) => {
        const said = mistakesIn([WITH_EXPORTER, ...faults.map(([key, value]) => stringify({ [key]: value }))])
        // Nothing that commands the terminal of whoever reads them.
        expect(said.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      },
    ),
    { numRuns: 1000 },
  )
})
