import { describe, expect, test } from '@jest/globals'
import { loadText } from './load-text.ts'

const AUTH = 'auth: { authenticator: bearertokenauth }'
const TLS = 'tls: { cert_file: a, key_file: b }'
const MUTUAL = 'tls: { cert_file: a, key_file: b, client_ca_file: c }'

const warningsWith = (grpc: string, query = '', exporter = 'endpoint: localhost:4317') =>
  loadText(`
receivers: { otlp: { protocols: { grpc: { ${grpc} } } } }
connectors: { cpid: }
exporters: { otlp_grpc: { ${exporter} } }
extensions: { cpid_query: { ${query} }, bearertokenauth: { token: a secret } }
service:
  extensions: [cpid_query, bearertokenauth]
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    traces/out: { receivers: [cpid], exporters: [otlp_grpc] }
`).warnings

describe.each([
  '0.0.0.0:4317',
  '[::]:4317',
  ':4317',
  '192.0.2.1:4317',
  'causeway.example:4317',
  '127.0.0.1.example.com:4317',
])('a listener at %s', (endpoint) => {
  const at = `endpoint: '${endpoint}'`

  test('is warned of if it requires no credential', () => {
    expect(warningsWith(at)).toEqual([
      expect.stringMatching(
        /^receivers::otlp::protocols::grpc::endpoint: .*accepts spans and mergelogs from ANYBODY/,
      ),
    ])
    expect(warningsWith(`${at}, ${TLS}`)).toHaveLength(1)
    expect(warningsWith('', at.replace('4317', '4319'))).toEqual([
      expect.stringMatching(
        /^extensions::cpid_query::endpoint: .*shows everything that is stored to ANYBODY/,
      ),
    ])
  })

  test('is warned of if credentials arrive unencrypted', () => {
    expect(warningsWith(`${at}, ${AUTH}`)).toEqual([
      expect.stringMatching(/^receivers::otlp::protocols::grpc::auth: credentials come to .* in plain text/),
    ])
  })

  test('is not warned of with credentials over TLS, or with client certificates', () => {
    expect(warningsWith(`${at}, ${AUTH}, ${TLS}`)).toEqual([])
    expect(warningsWith(`${at}, ${MUTUAL}`)).toEqual([])
  })
})

test.each(['localhost:4317', '127.0.0.1:4317', '127.1.2.3:4317', "'[::1]:4317'"])(
  'a listener at %s is nobody else’s business',
  (endpoint) => {
    expect(warningsWith(`endpoint: ${endpoint}`)).toEqual([])
  },
)

test('an exporter that shows its credential in plain text is warned of', () => {
  const to = (endpoint: string) => warningsWith('', '', `${AUTH}, endpoint: ${endpoint}`)
  expect(to('http://tempo:4317')).toEqual([
    'exporters::otlp_grpc::auth: the credential is sent in plain text; turn tls on',
  ])
  expect(to('https://tempo:4317')).toEqual([])
  expect(to('http://localhost:4317')).toEqual([])
})

test.each([
  ['http', 1],
  ['https', 0],
])('an exporter of metrics alone, over %s', (scheme, count) => {
  const { warnings } = loadText(`
receivers: { otlp: { protocols: { grpc: } } }
connectors: { cpid: }
exporters: { otlp_http: { metrics_endpoint: ${scheme}://prometheus:9090/otlp, ${AUTH} } }
extensions: { bearertokenauth: { token: a secret } }
service:
  extensions: [bearertokenauth]
  pipelines:
    traces/in: { receivers: [otlp], exporters: [cpid] }
    metrics/out: { receivers: [cpid], exporters: [otlp_http] }
`)
  expect(warnings.filter((line) => line.startsWith('exporters::otlp_http::auth'))).toHaveLength(count)
})
