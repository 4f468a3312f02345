import { isIP, isIPv6 } from 'node:net'
import { ownValue } from '../model/untrusted-names.ts'
import { didYouMean, invalid, InvalidValue, type ValueKind } from './schema.ts'
import { describeNode, isMap, kindOf, type RawNode, textOf, valueOf } from './yaml-tree.ts'

export const TEXT: ValueKind<string> = {
  type: 'text',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined) return invalid(`must be text, got ${describeNode(node)}${quoteIt(node)}`)
    return text === '' ? invalid('must not be empty; write a value or leave the key out') : text
  },
}

/** A secret text, which is never shown, not even in errors. */
export const SECRET_TEXT: ValueKind<string> = {
  type: 'text',
  textual: true,
  secret: true,
  read: (node) => textOf(node) ?? invalid(`must be text, got ${kindOf(node)}`),
}

/** A secret text that is not empty. */
export const SECRET_WORD: ValueKind<string> = {
  ...SECRET_TEXT,
  read: (node) =>
    textOf(node) === '' ? invalid('must not be empty; is its variable set?') : SECRET_TEXT.read(node),
}

/** A list of at least one secret text. */
export const SECRET_LIST: ValueKind<string[]> = {
  type: 'list of text',
  secret: true,
  read: (node) => {
    const items = valueOf(node)
    const texts = Array.isArray(items) ? items.map((item) => textOf(item) ?? '') : []
    const isRight = texts.length > 0 && texts.every((text) => text !== '')
    return isRight ? texts : invalid(`must be a list of text, none of it empty, got ${kindOf(node)}`)
  },
}

export const FLAG: ValueKind<boolean> = {
  type: 'true or false',
  read: (node) => {
    const value = valueOf(node)
    return typeof value === 'boolean' ? value : invalid(`must be true or false, got ${describeNode(node)}`)
  },
}

export const TEXT_LIST: ValueKind<string[]> = {
  type: 'list of text',
  read: (node) => {
    const items = valueOf(node)
    if (!Array.isArray(items)) return invalid(`must be a list such as [a, b], got ${describeNode(node)}`)
    const texts = items.map(textOf)
    const wrong = texts.findIndex((text) => text === undefined)
    if (wrong >= 0) return invalid(`must be a list of text, got ${describeNode(items[wrong])} in it`)
    return texts.filter((text) => text !== undefined)
  },
}

/** An integer from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return numberKind(
    'whole number',
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
    bounds,
  )
}

/** A number from `least` to `most`; fractions are allowed. */
export function decimalNumber(least: number, most = Infinity): ValueKind<number> {
  const bounds = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`
  return numberKind('number', (value) => Number.isFinite(value) && value >= least && value <= most, bounds)
}

/** One of these words; with `anyCase`, ignoring case. */
export function choice<const T extends string>(
  words: readonly T[],
  options: { anyCase?: boolean } = {},
): ValueKind<T> {
  return {
    type: words.join(', '),
    textual: true,
    read: (node) => {
      const written = textOf(node)
      const text = options.anyCase ? written?.toLowerCase() : written
      const chosen = words.find((word) => word === text)
      if (chosen !== undefined) return chosen
      const hint = written === undefined ? '' : didYouMean([written], words)
      return invalid(`must be one of ${words.join(', ')}, got ${describeNode(node)}${hint}`)
    },
  }
}

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** HTTP headers or gRPC metadata; the values are secrets. */
export const HEADERS: ValueKind<Record<string, string>> = {
  type: 'map of text to text',
  secret: true,
  read: (node) => {
    const map = valueOf(node)
    if (!isMap(map)) return invalid(`must be a map such as { x-scope-orgid: "1" }, got ${kindOf(map)}`)
    const headers: [string, string][] = []
    for (const [name, value] of Object.entries(map)) {
      const header = readHeader(name, value)
      if (header instanceof InvalidValue) return header
      headers.push(header)
    }
    return Object.fromEntries(headers)
  },
}

function readHeader(name: string, node: RawNode): [string, string] | InvalidValue {
  const value = node === null ? '' : textOf(node)
  if (!HEADER_NAME.test(name)) return invalid(`"${name}" cannot be a header name`)
  if (value === undefined)
    return invalid(`the value of ${name} must be text, got ${kindOf(node)}${quoteIt(node)}`)
  return HEADER_VALUE.test(value)
    ? [name, value]
    : invalid(`the value of ${name} holds a line break or control character`)
}

function numberKind(type: string, isRight: (value: number) => boolean, bounds: string): ValueKind<number> {
  return {
    type,
    read: (node) => {
      const value = valueOf(node)
      return typeof value === 'number' && isRight(value)
        ? value
        : invalid(`must be a ${type} ${bounds}, got ${describeNode(node)}`)
    },
  }
}

function quoteIt(node: RawNode): string {
  const value = valueOf(node)
  return typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : ''
}

const NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
}
const NANOS_PER_MS = 1e6
const MAX_NANOS = 2 ** 63 - 1
const WHOLE = /^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g
const DAYS = /^(\d+(?:\.\d+)?)d$/
const BARE_NUMBER = /^\d+(\.\d+)?$/

/** Parses a Go duration such as `1h30m` to milliseconds. `0` needs no unit. */
export function parseDuration(text: string): number | InvalidValue {
  if (text === '0') return 0
  if (BARE_NUMBER.test(text))
    return invalid(`must be a duration with a unit, got ${text}; for seconds write ${text}s`)
  if (text.startsWith('-')) return invalid(`must not be negative, got ${text}`)
  if (!WHOLE.test(text)) {
    const [, days] = DAYS.exec(text) ?? []
    const hint = days === undefined ? '' : `; there are no days, write ${Number(days) * 24}h`
    return invalid(`must be a duration such as 200ms, 10s or 1h30m, got ${JSON.stringify(text)}${hint}`)
  }
  const nanos = [...text.matchAll(PART)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (ownValue(NANOS, unit ?? '') ?? NaN),
    0,
  )
  if (nanos > MAX_NANOS) return invalid(`must be under 292 years, got ${text}`)
  return Math.round(nanos) / NANOS_PER_MS
}

/** Rounds up to whole milliseconds, since Node's timers and the database take no fractions. */
const readDuration: ValueKind<number>['read'] = (node) => {
  const value = valueOf(node)
  const text = typeof value === 'number' ? String(value) : textOf(node)
  if (text === undefined)
    return invalid(`must be a duration such as 200ms, 10s or 1h30m, got ${describeNode(node)}`)
  const ms = parseDuration(text)
  return typeof ms === 'number' ? Math.ceil(ms) : ms
}

/** A Go duration, in milliseconds, rounded up. */
export const DURATION: ValueKind<number> = { type: 'duration', read: readDuration }

/** A positive Go duration, in milliseconds. */
export const POSITIVE_DURATION = positive(DURATION)

/** Node's timers hold at most 24 days, and fire at once for longer delays. Some timers wait a tenth longer than configured. */
const LONGEST_WAIT_MS = 20 * 24 * 3_600_000

/** A Go duration for a timer, in milliseconds; longer ones become 20 days. */
export const WAIT: ValueKind<number> = {
  type: 'duration',
  read: (node) => {
    const ms = readDuration(node)
    return typeof ms === 'number' ? Math.min(ms, LONGEST_WAIT_MS) : ms
  },
}

export const POSITIVE_WAIT = positive(WAIT)

function positive({ type, read }: ValueKind<number>): ValueKind<number> {
  return {
    type,
    read: (node) => {
      const ms = read(node)
      return ms === 0 ? invalid('must be more than 0s') : ms
    },
  }
}

const BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }
const SIZE = /^(\d+) ?(KiB|MiB|GiB|)$/
const NEAR_SIZE = /^(\d+) ?([kmg])i?b?$/i
const SIZE_WANTED = 'must be a whole number of bytes or a size such as 512KiB, 4MiB or 20GiB'

/** Parses a size such as `4MiB` to bytes. A bare number is in bytes. */
export function parseSize(text: string): number | InvalidValue {
  const [, count, unit] = SIZE.exec(text) ?? []
  if (count === undefined || unit === undefined) {
    const [, near, letter] = NEAR_SIZE.exec(text) ?? []
    const hint = near !== undefined && letter !== undefined ? `; write ${near}${letter.toUpperCase()}iB` : ''
    return invalid(`${SIZE_WANTED}, got ${JSON.stringify(text)}${hint}`)
  }
  const bytes = Number(count) * (ownValue(BYTES, unit) ?? NaN)
  return Number.isSafeInteger(bytes) ? bytes : invalid(`is more bytes than can be counted, got ${text}`)
}

/** A size of at least `least` bytes. */
export function size(least: number): ValueKind<number> {
  return {
    type: 'size',
    read: (node) => {
      const value = valueOf(node)
      const text = typeof value === 'number' && Number.isInteger(value) ? String(value) : textOf(node)
      if (text === undefined) return invalid(`${SIZE_WANTED}, got ${describeNode(node)}`)
      const bytes = parseSize(text)
      return typeof bytes === 'number' && bytes < least
        ? invalid(`must be at least ${least}, got ${text}`)
        : bytes
    },
  }
}

export interface Endpoint {
  /** A host name or an address; IPv6 has no brackets. */
  host: string
  /** For a listener, 0 is any free port. */
  port: number
}

const HOST_PORT = /^(?:\[(?<bracketed>[^[\]]*)\]|(?<plain>[^:[\]]*)):(?<port>[^:]*)$/
const SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i
const ALL_ADDRESSES = '0.0.0.0'
const MAX_PORT = 65535

/** Parses `host:port`. The host may be empty. */
export function parseEndpoint(text: string): Endpoint | InvalidValue {
  const wanted = `must be host:port such as localhost:4317, got ${describeNode(text)}`
  const scheme = SCHEME.exec(text)
  if (scheme) return invalid(`${wanted}; write it without ${scheme[0]}`)
  const { bracketed, plain, port } = HOST_PORT.exec(text)?.groups ?? {}
  if (port === undefined) {
    if (isIPv6(text)) return invalid(`${wanted}; write an IPv6 address in brackets, such as [::1]:4317`)
    return invalid(text.includes(':') ? wanted : `${wanted}; the port is missing`)
  }
  if (!/^\d{1,5}$/.test(port) || Number(port) > MAX_PORT) {
    return invalid(`invalid port "${port}"; write a number from 0 to ${MAX_PORT}`)
  }
  const host = bracketed ?? plain ?? ''
  if (bracketed === undefined ? /[\s/?#@]/.test(host) : !isIPv6(bracketed)) return invalid(wanted)
  return { host, port: Number(port) }
}

/** The `host:port` text of an endpoint. */
export function formatEndpoint({ host, port }: Endpoint): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** The address of a listener. As in the Collector, an empty host is all addresses, and port 0 is any free port. */
export const LISTEN_ENDPOINT: ValueKind<Endpoint> = {
  type: 'host:port',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined)
      return invalid(`must be host:port such as localhost:4317, got ${describeNode(node)}`)
    const endpoint = parseEndpoint(text)
    if (endpoint instanceof InvalidValue) return endpoint
    return endpoint.host === '' ? { host: ALL_ADDRESSES, port: endpoint.port } : endpoint
  },
}

const PATH = /^[/\w.~!$&'()*+,;=:@%-]+$/

/** The path part of a URL; a leading slash may be left out. */
export const URL_PATH: ValueKind<string> = {
  type: 'URL path',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    return text !== undefined && PATH.test(text)
      ? `/${text.replace(/^\//, '')}`
      : invalid(`must be a URL path such as /v1/traces, got ${describeNode(node)}`)
  },
}

export const HTTP_URL: ValueKind<string> = {
  type: 'URL',
  textual: true,
  read: (node) => {
    const wanted = 'must be a URL such as http://localhost:4318'
    const text = textOf(node)
    if (text === undefined) return invalid(`${wanted}, got ${describeNode(node)}`)
    if (!/^https?:\/\//i.test(text))
      return invalid(`${wanted}, got ${describeNode(text)}; begin it with http:// or https://`)
    const url = URL.parse(text)
    if (url === null) return invalid(`${wanted}, got ${describeNode(text)}`)
    if (url.username !== '' || url.password !== '') {
      return invalid(
        'must hold no user or password; write headers: { authorization: "Basic ${env:LOGIN}" } instead',
      )
    }
    return text
  },
}

const PLACEHOLDER = /\{[^{}]*\}?/g
const PLACEHOLDERS = ['{trace_id}', '{span_id}']

/** An http:// or https:// URL with `{trace_id}` and optionally `{span_id}`. */
export const TRACE_URL: ValueKind<string> = {
  type: 'URL with {trace_id}',
  textual: true,
  read: (node) => {
    const url = HTTP_URL.read(node)
    if (url instanceof InvalidValue) return url
    const unknown = url.match(PLACEHOLDER)?.find((placeholder) => !PLACEHOLDERS.includes(placeholder))
    if (unknown !== undefined) {
      return invalid(`may hold {trace_id} and {span_id}, got ${unknown}`)
    }
    return url.includes('{trace_id}')
      ? url
      : invalid(`must say where the trace id goes, such as http://localhost:16686/trace/{trace_id}`)
  },
}

interface GrpcTarget extends Endpoint {
  scheme: 'http' | 'https' | undefined
}

const TARGET = /^(?:(?<scheme>https?):\/\/|dns:\/\/\/)?(?<rest>.*)$/s

/** The address of a gRPC server. A scheme, if given, decides whether TLS is used. */
export const GRPC_TARGET: ValueKind<GrpcTarget> = {
  type: 'host:port',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined)
      return invalid(`must be host:port such as localhost:4317, got ${describeNode(valueOf(node))}`)
    const { scheme, rest = '' } = TARGET.exec(text)?.groups ?? {}
    const endpoint = parseEndpoint(rest.replace(/\/$/, ''))
    if (endpoint instanceof InvalidValue) return endpoint
    if (endpoint.host === '' || endpoint.port === 0) {
      return invalid(
        `must name a host and a port to send to, such as localhost:4317, got ${describeNode(text)}`,
      )
    }
    return { ...endpoint, scheme: scheme === 'http' || scheme === 'https' ? scheme : undefined }
  },
}

const CIDR = /^([^/]+)(?:\/(\d{1,3}))?$/

/** Whether a text is an address, or a range such as 10.0.0.0/8. */
export function isAddressRange(text: string): boolean {
  const [, address = '', bits] = CIDR.exec(text) ?? []
  const family = isIP(address)
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128)
}
