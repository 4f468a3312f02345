import { expect, test } from '@jest/globals'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { mergeTrees, splitKeys } from '../../src/config/resolve-tree.ts'
import type { RawMap } from '../../src/config/yaml-tree.ts'
import { loadText, mistakesIn, SMALLEST, WITH_EXPORTER } from './load-text.ts'

const around = { sets: [], env: {}, readFile: () => SMALLEST }

test('maps merge, lists and a bare key replace', () => {
  const under = { a: { b: 1, c: [1, 2] }, d: { e: 1 }, f: 1 }
  const over = { a: { c: [3], g: 2 }, d: null, f: { h: 1 } }
  expect(mergeTrees(under, over)).toEqual({ a: { b: 1, c: [3], g: 2 }, d: null, f: { h: 1 } })
})

test('a key may hold a whole path', () => {
  expect(splitKeys({ 'a::b': 1, a: { c: 2 } })).toEqual({ a: { b: 1, c: 2 } })
})

test('keys that objects have by nature are ordinary keys', () => {
  const over = JSON.parse('{"__proto__": {"polluted": true}, "constructor": {"a": 1}}') as RawMap
  const merged = mergeTrees({}, over)
  expect(Object.keys(merged)).toEqual(['__proto__', 'constructor'])
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  expect(mistakesIn([SMALLEST, '{"connectors": {"cpid": {"__proto__": 1, "constructor": 2}}}'])).toEqual([
    "'connectors::cpid' has invalid keys: __proto__, constructor",
  ])
  expect(mistakesIn([SMALLEST, 'exporters: { constructor: {} }'])[0]).toMatch(/unknown type: "constructor"/)
})

test('later sources are laid over earlier ones, and sets over all of them', () => {
  const over = 'connectors: { cpid: { linking: { wait: 1s, max_fanout: 3 } } }'
  const sets = ['connectors.cpid.linking.wait=2s']
  expect(loadText([SMALLEST, over], { sets }).config.cpid.linking).toMatchObject({
    waitMs: 2000,
    maxFanout: 3,
  })
})

test('sources may be files with or without a scheme, variables and YAML itself', () => {
  const read: string[] = []
  const { config } = loadConfig(
    {
      sources: [
        'a.yaml',
        'file:b.yaml',
        'C:\\c.yaml',
        'env:MORE',
        'yaml:connectors::cpid::linking::max_fanout: 5',
      ],
      sets: [],
      env: { MORE: 'connectors: { cpid: { max_sources: 7 } }' },
      readFile: (path) => {
        read.push(path)
        return SMALLEST
      },
    },
    COMPONENTS,
  )
  expect(read).toEqual(['a.yaml', 'b.yaml', 'C:\\c.yaml'])
  expect(config.cpid).toMatchObject({ maxSources: 7, linking: { maxFanout: 5 } })
})

test('JSON is YAML', () => {
  const json = JSON.stringify({
    receivers: { otlp: { protocols: { grpc: null } } },
    connectors: { cpid: {} },
    service: { pipelines: { traces: { receivers: ['otlp'], exporters: ['cpid'] } } },
  })
  expect(loadText(json).config).toEqual(loadText(SMALLEST).config)
})

test.each([
  [
    [],
    'at least one config flag must be provided; write --config otel-config.yaml, or causeway observe, which needs none',
  ],
  [
    ['https://example.com/c.yaml'],
    '--config: Causeway fetches no configuration over https; save https://example.com/c.yaml as a file first',
  ],
  [['ftp:x'], '--config: scheme "ftp" is not supported for uri "ftp:x"; write file:, env: or yaml:'],
  [['env:NOT_SET'], 'env:NOT_SET: this environment variable is not set; put the YAML in it'],
  [
    ['env:1'],
    '--config: environment variable "1" has invalid name: must match regex ^[a-zA-Z_][a-zA-Z0-9_]*$',
  ],
  [['yaml:just text'], '--config yaml: must be a map with sections such as service, got text'],
])('sources %j', (sources, message) => {
  expect(() => loadConfig({ ...around, sources }, COMPONENTS)).toThrow(message)
})

test('a file that is not there is named', () => {
  const readFile = () => {
    throw Object.assign(new Error(), { code: 'ENOENT' })
  }
  expect(() => loadConfig({ ...around, sources: ['nope.yaml'], readFile }, COMPONENTS)).toThrow(
    '--config: cannot read the file nope.yaml: there is no such file; paths are relative to the working directory',
  )
})

test('all mistakes in --config and --set are reported at once', () => {
  expect(mistakesIn([SMALLEST, 'a: [', 'b: "'], { sets: ['x.y', '=1', 'headers.token={ secret'] })).toEqual([
    '1: line 1, column 5: Flow sequence in block collection must be sufficiently indented and end with a ]',
    expect.stringContaining('2: line 1, column'),
    '--set x.y: missing equal sign; write --set a.b=c',
    '--set: missing key before the equal sign; write --set a.b=c',
    expect.stringMatching(/^--set headers\.token: line 1, column 9: (?!.*secret)/),
  ])
})

test.each([
  ['exporters.otlp_grpc.endpoint=jaeger:4317', { host: 'jaeger', port: 4317 }],
  ['exporters.otlp_grpc.headers={ a: "b=c" }', { headers: { a: 'b=c' } }],
  ['exporters.otlp_grpc.retry_on_failure.enabled= false', { retry: { enabled: false } }],
  ['exporters.otlp_grpc.timeout=', { timeoutMs: 5000 }],
])('--set %s', (set, expected) => {
  expect(loadText(WITH_EXPORTER, { sets: [set] }).config.exporters[0]?.settings).toMatchObject(expected)
})

test('a set list replaces the list', () => {
  const sets = ['service.pipelines.traces/out.exporters=[debug]', 'exporters.debug=']
  expect(loadText(WITH_EXPORTER, { sets }).config.pipelines.outTraces).toEqual(['debug'])
})

test('anchors and merge keys are followed', () => {
  const yaml = `
receivers: { otlp: { protocols: { grpc: { endpoint: localhost:1, <<: &limits { max_recv_msg_size_mib: 1 } } } } }
connectors: { cpid: }
service: { pipelines: { traces: { receivers: [otlp], exporters: [cpid] } } }
`
  expect(loadText(yaml).config.receivers[0]?.settings).toMatchObject({
    grpc: { maxRecvMsgSizeBytes: 2 ** 20 },
  })
})

test.each([
  ['an anchor that contains itself', 'a: &a [1, *a]'],
  ['a list in a list, five thousand times', `a: ${'['.repeat(5_000)}${']'.repeat(5_000)}`],
  ['a hundred and one maps', `${'{a: '.repeat(101)}1${'}'.repeat(101)}`],
])('%s is a mistake', (_, text) => {
  expect(mistakesIn(text)).toEqual([expect.stringContaining('nested more than 100 deep')])
})
