import { expect, test } from '@jest/globals'
import { expandReferences } from '../../src/config/resolve-tree.ts'
import { Findings } from '../../src/config/schema.ts'
import { type RawNode, Substituted, UNRESOLVED } from '../../src/config/yaml-tree.ts'
import { loadText, mistakesIn, SMALLEST, WITH_EXPORTER } from './load-text.ts'

const ENV = {
  HOST: 'tempo',
  PORT: '4317',
  EMPTY: '',
  LIST: '[a, b]',
  NAME: 'HOST',
  QUOTED: '"text"',
  OUTER: '${env:HOST}:1',
  DOLLARS: 'a$$b',
  SELF: '${env:SELF}',
  TWICE: '${env:TWICE}${env:TWICE}',
  FOREST: '[ "${env:FOREST}", "${env:FOREST}" ]',
  NOT_YAML: 'a: b: c',
}
const FILES: Record<string, string> = { 'part.yaml': 'a: ${env:PORT}\n', 'token.txt': 'secret\n' }

function expand(value: string) {
  const findings = new Findings()
  const readFile = (path: string) => FILES[path] ?? ''
  const tree = expandReferences({ key: value }, { env: ENV, readFile }, findings)
  return { node: tree['key'], mistakes: findings.mistakes, warnings: findings.warnings }
}

test.each<[string, RawNode]>([
  ['${env:HOST}', 'tempo'],
  ['${HOST}', 'tempo'],
  ['${env:HOST}:${PORT}', 'tempo:4317'],
  ['${env:PORT}', new Substituted(4317, '4317')],
  ['${env:LIST}', new Substituted(['a', 'b'], '[a, b]')],
  ['${env:EMPTY}', new Substituted(null, '')],
  ['${env:EMPTY:-unused}', new Substituted(null, '')],
  ['<${env:EMPTY}>', '<>'],
  ['${env:NONE:-default}', 'default'],
  ['${NONE:-default}', 'default'],
  ['${env:constructor:-default}', 'default'],
  ['${env:__proto__:-default}', 'default'],
  ['${env:NONE:-}', new Substituted(null, '')],
  ['${env:NONE:-5}', new Substituted(5, '5')],
  ['${env:NONE:-${env:HOST}}', 'tempo'],
  ['${env:${env:NAME}}', 'tempo'],
  ['${env:OUTER}', 'tempo:1'],
  ['${env:QUOTED}', '"text"'],
  ['${env:NOT_YAML}', 'a: b: c'],
  ['${file:part.yaml}', new Substituted({ a: new Substituted(4317, '4317') }, 'a: ${env:PORT}')],
  ['Bearer ${file:token.txt}', 'Bearer secret'],
  ['${yaml:[1, x]}', new Substituted([1, 'x'], '[1, x]')],
  ['$$', '$'],
  ['$${env:HOST}', '${env:HOST}'],
  ['$$${env:HOST}', '$tempo'],
  ['$HOST costs $5', '$HOST costs $5'],
  ['${env:DOLLARS}', 'a$b'],
  ['open ${ only', 'open ${ only'],
  ['} ${env:HOST} }', '} tempo }'],
])('%s', (value, expected) => {
  const { node, mistakes, warnings } = expand(value)
  expect({ node, mistakes, warnings }).toEqual({ node: expected, mistakes: [], warnings: [] })
})

test('a variable that is not set is empty and warned of', () => {
  expect(expand('${env:NONE}')).toEqual({
    node: new Substituted(null, ''),
    mistakes: [],
    warnings: ['key: environment variable "NONE" is not set; left empty'],
  })
  expect(expand('a${NONE}b')).toMatchObject({ node: 'ab', warnings: [expect.stringContaining('NONE')] })
})

test.each([
  ['${env:}', 'environment variable "" has invalid name: must match regex ^[a-zA-Z_][a-zA-Z0-9_]*$'],
  ['${env:a-b}', 'environment variable "a-b" has invalid name: must match regex ^[a-zA-Z_][a-zA-Z0-9_]*$'],
  ['${a b}', 'environment variable "a b" has invalid name: must match regex ^[a-zA-Z_][a-zA-Z0-9_]*$'],
  ['${env:SELF}', 'too many recursive expansions; does a variable refer to itself?'],
  ['${env:TWICE}', 'too many recursive expansions; does a variable refer to itself?'],
])('%s is a mistake', (value, message) => {
  expect(expand(value)).toMatchObject({ node: UNRESOLVED, mistakes: [{ path: 'key', message }] })
})

test('a list that holds itself ends', () => {
  expect(expand('${env:FOREST}').mistakes[0]?.message).toMatch(/too many recursive expansions/)
})

test('a text field takes the text as it was, a number field the number', () => {
  const sets = ['connectors.cpid.storage.path="${env:FILE}"', 'connectors.cpid.max_sources="${env:COUNT}"']
  const { config } = loadText(SMALLEST, { sets, env: { FILE: '0777', COUNT: '0777' } })
  expect(config.cpid).toMatchObject({ storage: { path: '0777' }, maxSources: 777 })
})

test('an unset variable leaves the default in place', () => {
  const sets = ['connectors.cpid.linking="${env:LINKING}"', 'receivers.otlp.protocols.grpc="${env:GRPC}"']
  const { config, warnings } = loadText(SMALLEST, { sets })
  expect(config).toEqual(loadText(SMALLEST).config)
  expect(warnings).toHaveLength(2)
})

test('whole sections, lists and endpoints may come from outside', () => {
  const sets = [
    'exporters.otlp_grpc="${file:exporter.yaml}"',
    'service.pipelines.traces/in.receivers="${env:RECEIVERS}"',
    'service.telemetry.metrics.readers="${env:READERS}"',
  ]
  const files = { 'exporter.yaml': 'endpoint: ${env:HOST}:4317\ntls: { insecure: "${env:INSECURE}" }\n' }
  const env = { HOST: 'tempo', INSECURE: 'true', RECEIVERS: '[otlp]', READERS: '[]' }
  expect(loadText(WITH_EXPORTER, { sets, files, env }).config).toMatchObject({
    exporters: [{ settings: { host: 'tempo', tls: { insecure: true } } }],
    telemetry: { metrics: undefined },
  })
})

test('a reference that cannot be followed hides no other mistake and causes none', () => {
  const bad = '${env:1}'
  const sets = [
    `receivers.otlp.protocols.grpc.endpoint="${bad}"`,
    `exporters.otlp_grpc.headers={ a: "${bad}" }`,
    `service.pipelines.traces/out.exporters=["${bad}"]`,
    'connectors.cpid.max_sources=none',
  ]
  expect(mistakesIn(WITH_EXPORTER, { sets }).map((line) => line.replace(/: .*/, ''))).toEqual([
    'receivers::otlp::protocols::grpc::endpoint',
    'exporters::otlp_grpc::headers::a',
    'service::pipelines::traces/out::exporters::0',
    'connectors::cpid::max_sources',
  ])
  for (const section of ['receivers', 'connectors', 'exporters', 'service', 'service.pipelines']) {
    expect(mistakesIn(WITH_EXPORTER, { sets: [`${section}="${bad}"`] })).toHaveLength(1)
  }
})
