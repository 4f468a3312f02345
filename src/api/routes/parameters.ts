import { parseCpid, type Cpid } from '../../model/cpid.ts'
import type { UnixNanos } from '../../model/clock.ts'
import { parseRfc3339 } from '../../model/rfc3339.ts'
import type { Failure } from '../failure.ts'

/** A parameter of the API: how it is described, and how it is read. */
export interface Parameter<Value> {
  readonly description: string
  /** Its JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>
  /** The value, or why there is none; undefined for a text that counts as not given. */
  readonly read: (text: string) => { readonly value: Value } | Failure | undefined
  /** Why nothing can be answered without it; a parameter without this may be left out. */
  readonly missing?: Failure
}

/** One that nothing can be answered without. */
export interface NeededParameter<Value> extends Parameter<Value> {
  readonly missing: Failure
}

const MAX_LIMIT = 10_000
const MAX_TEXT = 1_024
const WHOLE_NUMBER = /^[0-9]{1,5}$/

const cpid = (description: string): Parameter<Cpid> => ({
  description,
  schema: {
    type: 'string',
    pattern: '^([0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$',
  },
  read: (text) => {
    const value = parseCpid(text)
    return value === undefined ? 'malformedCpid' : { value }
  },
})

const id = (description: string, digits: number, malformed: Failure): Parameter<string> => ({
  description,
  schema: { type: 'string', pattern: `^[0-9A-Fa-f]{${digits}}$` },
  read: (text) =>
    text.length === digits && /^[0-9a-f]+$/i.test(text) ? { value: text.toLowerCase() } : malformed,
})

/** A text to look for; an empty one is none. */
const text = (description: string): Parameter<string> => ({
  description,
  schema: { type: 'string' },
  read: (given) => {
    if (given.trim() === '') return undefined
    return given.length > MAX_TEXT ? 'badText' : { value: given }
  },
})

const neededText = (description: string, missing: Failure): NeededParameter<string> => ({
  ...text(description),
  missing,
})

const time = (description: string): Parameter<UnixNanos> => ({
  description,
  schema: { type: 'string', format: 'date-time' },
  read: (given) => {
    const value = parseRfc3339(given)
    return value === undefined ? 'badTime' : { value }
  },
})

const limit: Parameter<number> = {
  description: 'How many at most',
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  read: (given) => {
    const value = WHOLE_NUMBER.test(given) ? Number(given) : 0
    return value >= 1 && value <= MAX_LIMIT ? { value } : 'badLimit'
  },
}

const state: Parameter<'open' | 'settled'> = {
  description: 'Only open or only settled ones',
  schema: { type: 'string', enum: ['open', 'settled'] },
  read: (given) => (given === 'open' || given === 'settled' ? { value: given } : 'badState'),
}

const after: Parameter<string> = {
  description: 'The `next` of an earlier answer from the same path',
  schema: { type: 'string' },
  read: (value) => ({ value }),
}

/** Every parameter of the API, in a path or behind it. */
export const PARAMETERS = {
  cpid: cpid('A CPID in any case, with or without dashes'),
  root: cpid('The root CPID of a cascade'),
  other: cpid('The root CPID of another cascade'),
  spanId: id('A span id: 16 hex digits', 16, 'badSpanId'),
  trace: id(
    'The trace in which the span is meant, 32 hex digits; else all traces of the cascade are searched',
    32,
    'badTraceId',
  ),
  limit,
  after,
  state,
  object: text(
    'The object of the root mergelog: a reference, or whole parts of one between slashes, such as its name',
  ),
  service: text('A service that has spans in it or began it'),
  cluster: text('The cluster of whoever began it'),
  actor: text('A user who wrote something in it, or a service that has spans in it or began it'),
  namespace: text('A namespace into which it wrote, or that of the object with which it began'),
  from: time('Active at this time or later (RFC 3339)'),
  to: time('Active at this time or before (RFC 3339)'),
  ref: neededText(
    'An object reference with or without its query, the beginning of one, or a name',
    'noReference',
  ),
  q: neededText(
    "A CPID in any form or its first eight digits or more, a trace id, or a part of an object's name",
    'nothingToFind',
  ),
}
