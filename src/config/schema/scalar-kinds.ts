import { describeNode, isMap, kindOf, textOf, valueOf, type RawNode } from '../tree/raw-node.ts'
import { didYouMean } from './did-you-mean.ts'
import { refuse, InvalidValue, type ValueKind } from './field.ts'

export const TEXT: ValueKind<string> = {
  type: 'text',
  textual: true,
  read: (node) => {
    const text = textOf(node)
    if (text === undefined) return refuse(`must be text, got ${describeNode(node)}${quoteIt(node)}`)
    return text === '' ? refuse('must not be empty; write a value or leave the key out') : text
  },
}

/** Text that is never shown, not even in a mistake. */
export const SECRET_TEXT: ValueKind<string> = {
  type: 'text',
  textual: true,
  secret: true,
  read: (node) => textOf(node) ?? refuse(`must be text, got ${kindOf(node)}`),
}

/** The same, of at least one character. */
export const SECRET_WORD: ValueKind<string> = {
  ...SECRET_TEXT,
  read: (node) =>
    textOf(node) === '' ? refuse('must not be empty; is its variable set?') : SECRET_TEXT.read(node),
}

/** A list of such, at least one. */
export const SECRET_LIST: ValueKind<string[]> = {
  type: 'list of text',
  secret: true,
  read: (node) => {
    const items = valueOf(node)
    const texts = Array.isArray(items) ? items.map((item) => textOf(item) ?? '') : []
    const isRight = texts.length > 0 && texts.every((text) => text !== '')
    return isRight ? texts : refuse(`must be a list of text, none of it empty, got ${kindOf(node)}`)
  },
}

export const FLAG: ValueKind<boolean> = {
  type: 'true or false',
  read: (node) => {
    const value = valueOf(node)
    return typeof value === 'boolean' ? value : refuse(`must be true or false, got ${describeNode(node)}`)
  },
}

export const TEXT_LIST: ValueKind<string[]> = {
  type: 'list of text',
  read: (node) => {
    const items = valueOf(node)
    if (!Array.isArray(items)) return refuse(`must be a list such as [a, b], got ${describeNode(node)}`)
    const texts = items.map(textOf)
    const wrong = texts.findIndex((text) => text === undefined)
    if (wrong >= 0) return refuse(`must be a list of text, got ${describeNode(items[wrong])} in it`)
    return texts.filter((text) => text !== undefined)
  },
}

/** A whole number from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const bounds = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
  return numberKind(
    'whole number',
    (value) => Number.isSafeInteger(value) && value >= least && value <= most,
    bounds,
  )
}

/** A number from `least` to `most`, fractions allowed. */
export function decimalNumber(least: number, most = Infinity): ValueKind<number> {
  const bounds = most === Infinity ? `of at least ${least}` : `from ${least} to ${most}`
  return numberKind('number', (value) => Number.isFinite(value) && value >= least && value <= most, bounds)
}

/** One word out of a few, in any case when `anyCase`. */
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
      return refuse(`must be one of ${words.join(', ')}, got ${describeNode(node)}${hint}`)
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
    if (!isMap(map)) return refuse(`must be a map such as { x-scope-orgid: "1" }, got ${kindOf(map)}`)
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
  if (!HEADER_NAME.test(name)) return refuse(`"${name}" cannot be a header name`)
  if (value === undefined)
    return refuse(`the value of ${name} must be text, got ${kindOf(node)}${quoteIt(node)}`)
  return HEADER_VALUE.test(value)
    ? [name, value]
    : refuse(`the value of ${name} holds a line break or control character`)
}

function numberKind(type: string, isRight: (value: number) => boolean, bounds: string): ValueKind<number> {
  return {
    type,
    read: (node) => {
      const value = valueOf(node)
      return typeof value === 'number' && isRight(value)
        ? value
        : refuse(`must be a ${type} ${bounds}, got ${describeNode(node)}`)
    },
  }
}

function quoteIt(node: RawNode): string {
  const value = valueOf(node)
  return typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : ''
}
