import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from '@jest/globals'
import { parse, stringify } from 'yaml'
import { ConfigError } from '../../src/config/schema.ts'
import { documentedKeys } from './documented-keys.ts'
import { WITHOUT_EFFECT } from './keys-without-effect.ts'
import { loadText } from './load-text.ts'

const SRC = fileURLToPath(new URL('../../src/', import.meta.url))
const everyKey = readFileSync(new URL('./every-key.yaml', import.meta.url), 'utf8')
const tree: unknown = parse(everyKey, { merge: true })
const keys = documentedKeys().flatMap(({ path, advice }) => (advice === undefined ? [path.join('::')] : []))
const reasonOf = (key: string): string | undefined =>
  Object.entries(WITHOUT_EFFECT).find(([end]) => key.endsWith(`::${end}`))?.[1]

/** What is laid over test/config/every-key.yaml first and then, where a key means something only beside others. */
const BESIDE: Readonly<Record<string, { first: string; then: string }>> = {
  'receivers::k8s_events::auth_type': {
    first: 'receivers: { k8s_events: { kubeconfig: , context: } }',
    then: 'receivers: { k8s_events: { auth_type: serviceAccount } }',
  },
  'receivers::k8s_objects::auth_type': {
    first: 'receivers: { k8s_objects: { kubeconfig: , context: } }',
    then: 'receivers: { k8s_objects: { auth_type: serviceAccount } }',
  },
  'connectors::cpid::senders::default::merge_from::unknown': {
    first: '',
    then: 'connectors: { cpid: { senders: { default: { merge_from: { unknown: refuse } } } } }',
  },
  ...Object.fromEntries(
    ['otlp_grpc', 'otlp_http', 'clickhouse'].flatMap((type) => {
      const of = (settings: string): string => `exporters: { ${type}/files: ${settings} }`
      return [
        [
          `exporters::${type}::tls::min_version`,
          { first: of('{ tls: { max_version: } }'), then: of("{ tls: { min_version: '1.3' } }") },
        ],
      ] as const
    }),
  ),
  'exporters::otlp_grpc::tls::insecure': {
    first: 'exporters: { otlp_grpc/files: { endpoint: tempo:4317, tls: } }',
    then: 'exporters: { otlp_grpc/files: { tls: { insecure: true } } }',
  },
  'exporters::otlp_http::tls::insecure': {
    first:
      'exporters: { otlp_http/files: { endpoint: http://tempo, traces_endpoint: , logs_endpoint: , metrics_endpoint: , tls: } }',
    then: 'exporters: { otlp_http/files: { tls: { insecure: false } } }',
  },
  'exporters::clickhouse::tls::insecure': {
    first: 'exporters: { clickhouse/files: { endpoint: http://clickhouse, tls: } }',
    then: 'exporters: { clickhouse/files: { tls: { insecure: false } } }',
  },
  ...Object.fromEntries(
    ['cert', 'key'].map((what) => [
      `extensions::cpid_query::tls::${what}_pem`,
      {
        first: 'extensions: { cpid_query: { tls: { cert_file: , key_file: , cert_pem: a, key_pem: b } } }',
        then: `extensions: { cpid_query: { tls: { ${what}_pem: c } } }`,
      },
    ]),
  ),
}

const ASKED = 'extensions::cpid_query::archive::tls'
const ofAsked = (settings: string): string => `extensions: { cpid_query: { archive: ${settings} } }`
const BESIDE_ASKED: typeof BESIDE = {
  [`${ASKED}::min_version`]: {
    first: ofAsked('{ tls: { max_version: } }'),
    then: ofAsked("{ tls: { min_version: '1.3' } }"),
  },
  [`${ASKED}::insecure`]: {
    first: ofAsked('{ endpoint: http://clickhouse, tls: }'),
    then: ofAsked('{ tls: { insecure: false } }'),
  },
  [`${ASKED}::ca_pem`]: {
    first: ofAsked('{ tls: { ca_file: , ca_pem: a } }'),
    then: ofAsked('{ tls: { ca_pem: c } }'),
  },
  ...Object.fromEntries(
    ['cert', 'key'].map((what) => [
      `${ASKED}::${what}_pem`,
      {
        first: ofAsked('{ tls: { cert_file: , key_file: , cert_pem: a, key_pem: b } }'),
        then: ofAsked(`{ tls: { ${what}_pem: c } }`),
      },
    ]),
  ),
}

const AUTHENTICATORS = ['basicauth', 'bearertokenauth', 'bearertokenauth/several', 'basicauth/out']

/** Each value that a reader may take in the place of one; undefined is none. */
function othersOf(value: unknown): unknown[] {
  if (typeof value === 'boolean') return [undefined, !value]
  if (typeof value === 'number') return [undefined, value + 1]
  if (typeof value === 'string')
    return [
      undefined,
      value.replace(/\d/, (digit) => (digit === '4' ? '5' : '4')),
      `${value}x`,
      '1.3',
      'own',
      ...AUTHENTICATORS,
    ]
  if (Array.isArray(value))
    return [
      undefined,
      ...value.map((_, at) => (value as unknown[]).toSpliced(at, 1)),
      ['eu'],
      ['X25519'],
      ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'],
    ]
  return Object.keys(Object(value) as object).map((key) => ({ ...(value as object), [key]: undefined }))
}

/** Where a documented key stands: ids of the same type, and items of a list, are several places. */
function placesOf(node: unknown, path: readonly string[], before: readonly string[] = []): string[][] {
  const [step, ...rest] = path
  if (step === undefined) return [[...before]]
  if (typeof node !== 'object' || node === null) return []
  const areIds =
    (before.length === 1 && before[0] !== 'service') || before.join('::') === 'service::pipelines'
  return Object.entries(node).flatMap(([key, inner]) => {
    const known = Array.isArray(node) ? '0' : areIds ? key.replace(/\/.*/, '') : key
    return known === step ? placesOf(inner, rest, [...before, key]) : []
  })
}

const inside = (node: unknown, step: string): unknown => Reflect.get(Object(node) as object, step)

/** What is configured where another value stands at a place. */
function* variantsAt(place: readonly string[]): Generator {
  const last = place.at(-1) ?? ''
  for (const other of othersOf(place.reduce(inside, tree))) {
    const copy = structuredClone(tree)
    const around = Object(place.slice(0, -1).reduce(inside, copy)) as object
    if (other === undefined) Reflect.deleteProperty(around, last)
    else Reflect.set(around, last, other)
    yield* loadedOf(stringify(copy))
  }
}

/** What is configured; nothing where that is refused. */
function loadedOf(...texts: string[]): unknown[] {
  try {
    return [loadText(texts).config]
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return []
  }
}

const everyKeyLoaded = loadedOf(everyKey)

/** The names of the settings that differ, those of lists for their items. */
function differing(one: unknown, other: unknown, name = ''): string[] {
  if (isDeepStrictEqual(one, other)) return []
  const areSections = [one, other].every((side) => typeof side === 'object' && side !== null)
  if (!areSections || name === 'headers') return [name]
  const names = new Set([one, other].flatMap((side) => Object.keys(Object(side) as object)))
  return [...names].flatMap((key) =>
    differing(inside(one, key), inside(other, key), /^\d+$/.test(key) ? name : key),
  )
}

/** For each other value of the key that is taken, the names of the settings that are others by it. */
function* settingsOf(key: string): Generator<string[]> {
  const beside = BESIDE[key] ?? BESIDE_ASKED[key]
  const texts = [everyKey, beside?.first ?? '']
  const [whole] = beside === undefined ? everyKeyLoaded : loadedOf(...texts)
  if (whole === undefined) throw new Error(`${key} is looked at beside what is refused`)
  if (beside !== undefined) yield* loadedOf(...texts, beside.then).map((other) => differing(whole, other))
  else
    for (const place of placesOf(tree, key.split('::')))
      for (const other of variantsAt(place)) yield differing(whole, other)
}

const DECLARES = /^(?:config|connector)\/|^(receiver|exporter|extension)\/([\w-]+)\/\2-\1\.ts$/
/** What runs: neither what reads a configuration nor what declares a component. */
const running = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !DECLARES.test(name))
  .map((name) => readFileSync(SRC + name, 'utf8'))
  .join('\n')

/** Whether something that runs takes the setting out of what it is given, or has another name for it in a table. */
const isTaken = (setting: string): boolean =>
  new RegExp(`\\.${setting}\\b|[{,]\\s*${setting}(?:\\s*[,=}]|:\\s*\\w+\\s*[,=}])|\\b${setting}: '`).test(
    running,
  )

function isAnyTaken(found: Iterable<string[]>): boolean {
  for (const settings of found) if (settings.some(isTaken)) return true
  return false
}

test.each(keys.filter((key) => reasonOf(key) === undefined))(
  '%s changes what is configured, and what runs takes that',
  (key) => {
    expect(isAnyTaken(settingsOf(key))).toBe(true)
  },
)

test.each(keys.filter((key) => reasonOf(key) !== undefined))('%s is without effect, as it is said', (key) => {
  expect([...settingsOf(key)].flat()).toEqual([])
})

test('every key that is reported to have no effect is documented', () => {
  const ends = Object.keys(WITHOUT_EFFECT)
  expect(ends.filter((end) => !keys.some((key) => key.endsWith(`::${end}`)))).toEqual([])
})
