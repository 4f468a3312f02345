import { both, type Condition, type Operator, type Subject, ALL } from '../../query/traces/condition.ts'
import { parseLogfmt } from '../../query/traces/parse-logfmt.ts'
import { parseTraceQl, TraceQlError } from '../../query/traces/parse-traceql.ts'
import type { TraceQuestion } from '../../query/traces/trace-question.ts'
import { BadParameter, malformed, type Parameters } from './parameters.ts'
import { ownValue } from '../../model/own-value.ts'

const TRACES = 20
const SPANS_PER_TRACE = 3
const MAX_TRACES = 1_000
const MAX_SPANS = 1_000
const SECOND = 1_000_000_000n

/** A search for traces, by TraceQL or by tags. Throws BadParameter. */
export function readTempoSearch(parameters: Parameters): TraceQuestion {
  const [start, end] = [parameters.time('start', SECOND), parameters.time('end', SECOND)]
  const [query, tags] = [parameters.text('q'), parameters.text('tags')]
  if (query !== undefined && tags !== undefined) throw new BadParameter('give either q or tags, not both')
  const condition = [
    hasTags(tags),
    traceLasts('>=', parameters.duration('minDuration')),
    traceLasts('<=', parameters.duration('maxDuration')),
  ].reduce(both, readTraceQl(query))
  if (start !== undefined && end !== undefined && end <= start)
    throw new BadParameter('start must be before end')
  const limit = parameters.count(['limit'], TRACES, MAX_TRACES)
  const isUnlimited = parameters.text('spss') === '0'
  const spansPerTrace = isUnlimited ? MAX_SPANS : parameters.count(['spss'], SPANS_PER_TRACE, MAX_SPANS)
  const range = { ...(start !== undefined && { fromNs: start }), ...(end !== undefined && { toNs: end }) }
  return { kind: 'searchTraces', shape: 'tempo', search: { condition, ...range, limit, spansPerTrace } }
}

export function readTraceQl(query = ''): Condition {
  try {
    return parseTraceQl(query)
  } catch (error) {
    if (error instanceof TraceQlError) throw new BadParameter(`invalid TraceQL query: ${error.message}`)
    throw error
  }
}

/** What Tempo calls by a name of its own in tags. */
const INTRINSICS: Readonly<Record<string, Subject>> = {
  name: { scope: 'intrinsic', key: 'name' },
  'root.name': { scope: 'intrinsic', key: 'rootName' },
  'root.service.name': { scope: 'intrinsic', key: 'rootServiceName' },
}

/** Spans with all tags of a logfmt; a text need only have the other in it, in any case, as in Tempo. */
function hasTags(logfmt: string | undefined): Condition {
  if (logfmt === undefined) return ALL
  const pairs = parseLogfmt(logfmt)
  if (pairs === undefined)
    throw malformed('tags', logfmt, 'key=value pairs with spaces between them, such as service.name=web')
  const keys = pairs.map(([key]) => key)
  const twice = keys.find((key, at) => keys.indexOf(key) !== at)
  if (twice !== undefined) throw new BadParameter(`parameter tags has ${twice} twice`)
  return pairs.reduce<Condition>((condition, [key, value]) => both(condition, tagIs(key, value)), ALL)
}

function tagIs(key: string, value: string): Condition {
  if (key === 'status.code')
    return { kind: 'compare', subject: { scope: 'intrinsic', key: 'status' }, operator: '=', value }
  if (key === 'error' && value === 'true')
    return { kind: 'compare', subject: { scope: 'intrinsic', key: 'status' }, operator: '=', value: 'error' }
  const subject = ownValue(INTRINSICS, key)
  return { kind: 'compare', subject: subject ?? { scope: 'any', key }, operator: 'contains', value }
}

function traceLasts(operator: Operator, nanos: number | undefined): Condition {
  if (nanos === undefined) return ALL
  return { kind: 'compare', subject: { scope: 'intrinsic', key: 'traceDuration' }, operator, value: nanos }
}
