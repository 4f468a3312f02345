import { describeNode, textOf, valueOf } from '../tree/raw-node.ts'
import { refuse, type InvalidValue, type ValueKind } from './field.ts'
import { ownValue } from '../../model/own-value.ts'

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
const BARE_NUMBER = /^\d+(\.\d+)?$/

/** Milliseconds of a Go duration such as `1h30m`. `0` needs no unit. */
export function parseDuration(text: string): number | InvalidValue {
  if (text === '0') return 0
  if (BARE_NUMBER.test(text))
    return refuse(`must be a duration with a unit, got ${text}; for seconds write ${text}s`)
  if (text.startsWith('-')) return refuse(`must not be negative, got ${text}`)
  if (!WHOLE.test(text)) {
    return refuse(`must be a duration such as 200ms, 10s or 1h30m, got ${JSON.stringify(text)}`)
  }
  const nanos = [...text.matchAll(PART)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * (ownValue(NANOS, unit ?? '') ?? NaN),
    0,
  )
  if (nanos > MAX_NANOS) return refuse(`must be under 292 years, got ${text}`)
  return Math.round(nanos) / NANOS_PER_MS
}

const readDuration: ValueKind<number>['read'] = (node) => {
  const value = valueOf(node)
  const text = typeof value === 'number' ? String(value) : textOf(node)
  return text === undefined
    ? refuse(`must be a duration such as 200ms, 10s or 1h30m, got ${describeNode(node)}`)
    : parseDuration(text)
}

/** A Go duration, in milliseconds. */
export const DURATION: ValueKind<number> = { type: 'duration', read: readDuration }

/** A Go duration of more than nothing, in milliseconds. */
export const POSITIVE_DURATION: ValueKind<number> = {
  type: 'duration',
  read: (node) => {
    const ms = readDuration(node)
    return ms === 0 ? refuse('must be more than 0s') : ms
  },
}
