import { durationOf, stringOf } from './static-values.ts'
import {
  type Attribute,
  type IntrinsicName,
  KINDS,
  type Scope,
  type Static,
  STATUSES,
  TraceQlError,
} from './syntax.ts'

/** The intrinsics by their names in queries. */
const INTRINSICS: ReadonlyMap<string, IntrinsicName> = new Map<string, IntrinsicName>([
  ...(['duration', 'name', 'status', 'statusMessage', 'kind'] as const).flatMap(
    (name): [string, IntrinsicName][] => [
      [name, name],
      [`span:${name}`, name],
    ],
  ),
  ...(
    [
      'rootName',
      'rootServiceName',
      'traceDuration',
      'nestedSetLeft',
      'nestedSetRight',
      'nestedSetParent',
      'trace:id',
      'span:id',
      'span:parentID',
      'span:childCount',
      'event:name',
      'event:timeSinceStart',
      'link:traceID',
      'link:spanID',
      'instrumentation:name',
      'instrumentation:version',
    ] as const
  ).map((name): [string, IntrinsicName] => [name, name]),
  ['trace:duration', 'traceDuration'],
  ['trace:rootName', 'rootName'],
  ['trace:rootService', 'rootServiceName'],
])

export function intrinsicOf(text: string): Attribute {
  const name = INTRINSICS.get(text)
  if (name === undefined)
    throw new TraceQlError(`${text} cannot be asked for: roots are found by { nestedSetParent < 0 }`)
  return { kind: 'attribute', scope: 'intrinsic', name }
}

const SCOPES: readonly string[] = ['span', 'resource', 'event', 'link', 'instrumentation'] satisfies Scope[]

/** An attribute such as `.a`, `span.a` or `resource."a b"`. */
export function attributeOf(text: string): Attribute {
  const dot = text.indexOf('.')
  const [scope, quoted] = [text.slice(0, dot), text.slice(dot + 1)]
  if (scope === 'parent')
    throw new TraceQlError(
      `${text} cannot be asked for: ask for the parent itself, as in { span.${quoted} != nil } > { }`,
    )
  const name = quoted.replaceAll(/"((?:[^"\\]|\\.)*)"/gs, (_, inner: string) =>
    inner.replaceAll(/\\(.)/gs, (escape, character: string) => {
      if (character === '"' || character === '\\') return character
      throw new TraceQlError(
        `${escape} stands for nothing in the name of an attribute: write \\\\ for a backslash`,
      )
    }),
  )
  return { kind: 'attribute', scope: SCOPES.includes(scope) ? (scope as Scope) : 'any', name }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '"': '"',
}
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gs

/** Unquotes a string: in double quotes with Go's escapes, in backticks without escapes. */
export function stringOfText(text: string): Static {
  const inner = text.slice(1, -1)
  if (text.startsWith('`')) return stringOf(inner.replaceAll('\r', ''))
  const bytes: Buffer[] = []
  let from = 0
  for (const escape of inner.matchAll(ESCAPE)) {
    bytes.push(Buffer.from(inner.slice(from, escape.index)))
    from = escape.index + escape[0].length
    const [whole, byte, short, long, octal, letter] = escape
    if (byte !== undefined || octal !== undefined) {
      const value = byte === undefined ? parseInt(octal ?? '', 8) : parseInt(byte, 16)
      if (value > 255) throw noEscape(whole)
      bytes.push(Buffer.from([value]))
    } else if (short !== undefined || long !== undefined) {
      const code = parseInt(short ?? long ?? '', 16)
      if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw noEscape(whole)
      bytes.push(Buffer.from(String.fromCodePoint(code)))
    } else {
      const character = letter === undefined ? undefined : new Map(Object.entries(ESCAPES)).get(letter)
      if (character === undefined) throw noEscape(whole)
      bytes.push(Buffer.from(character))
    }
  }
  bytes.push(Buffer.from(inner.slice(from)))
  return stringOf(Buffer.concat(bytes).toString())
}

const noEscape = (escape: string): TraceQlError =>
  new TraceQlError(
    `${escape} stands for nothing in a text: write \\\\ for a backslash, or put the text in backticks`,
  )

const PROMETHEUS = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/
const SECOND = 1_000_000_000n
const OF_PROMETHEUS = [
  31_536_000n * SECOND,
  604_800n * SECOND,
  86_400n * SECOND,
  3600n * SECOND,
  60n * SECOND,
  SECOND,
  1_000_000n,
]
const GO = /^(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/
const OF_GO: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', SECOND],
  ['m', 60n * SECOND],
  ['h', 3600n * SECOND],
])

/** A Go duration, such as 1m30s or 1.5ms, in nanoseconds. */
export function nanosOfGo(text: string): bigint | undefined {
  if (!GO.test(text)) return undefined
  let nanos = 0n
  for (const [, digits = '', part = '', unit = ''] of text.matchAll(/(\d*)(\.\d*)?(ns|us|µs|μs|ms|s|m|h)/g)) {
    const length = OF_GO.get(unit) ?? 0n
    const fraction = part.slice(1)
    const ofPart = fraction === '' ? 0n : (BigInt(fraction) * length) / 10n ** BigInt(fraction.length)
    nanos += BigInt(digits === '' ? 0 : digits) * length + ofPart
  }
  return nanos
}

/** Parses a duration: integers with units from years to milliseconds as in Prometheus, or a Go duration such as 1m30s or 1.5ms. */
export function durationOfText(text: string): Static {
  let nanos: bigint | undefined
  const whole = PROMETHEUS.exec(text)
  if (whole !== null) {
    nanos = OF_PROMETHEUS.reduce((total, unit, at) => total + unit * BigInt(whole[at + 1] ?? 0), 0n)
  } else nanos = nanosOfGo(text)
  if (nanos === undefined || nanos >= 2n ** 63n)
    throw new TraceQlError(`${text} is no duration; write one such as 1m30s or 1.5ms`)
  return durationOf(nanos)
}

/** The value of a keyword. */
export function wordOf(text: string): Static {
  if (text === 'true' || text === 'false') return { type: 'boolean', value: text === 'true' }
  if (text === 'maxInt') return { type: 'int', value: 2n ** 63n - 1n }
  if (text === 'minInt') return { type: 'int', value: -(2n ** 63n) }
  const status = STATUSES.find((one) => one === text)
  if (status !== undefined) return { type: 'status', value: status }
  const kind = KINDS.find((one) => one === text)
  if (kind !== undefined) return { type: 'kind', value: kind }
  throw new TraceQlError(`${text} is no value; write texts in quotes`)
}
