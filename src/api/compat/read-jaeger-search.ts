import { both, type Condition } from '../../query/traces/condition.ts'
import type { TraceQuestion } from '../../query/traces/trace-question.ts'
import { hasTag, hasTags, isOf, lasts } from './jaeger-conditions.ts'
import { ANY_BOOLEAN, ANY_TEXT, BadParameter, type Parameters } from './parameters.ts'

const TRACES = 100
const MAX_TRACES = 1_500
const MICROSECOND = 1_000n

/** A search through Jaeger's older API; `lookback` and `view` are what its page tells itself. */
export function readLegacySearch(parameters: Parameters): TraceQuestion {
  const service = parameters.text('service')
  const operation = parameters.text('operation')
  const [from, to] = [parameters.time('start', MICROSECOND), parameters.time('end', MICROSECOND)]
  const condition = [
    hasTags('tags', parameters.text('tags')),
    ...parameters.all('tag').map(hasTag),
    lasts(parameters.duration('minDuration'), parameters.duration('maxDuration')),
  ].reduce(both, isOf(service, operation))
  const limit = parameters.count(['limit'], TRACES, MAX_TRACES)
  parameters.pass(ANY_BOOLEAN, 'raw', 'prettyPrint')
  parameters.pass(ANY_TEXT, 'lookback', 'view')
  if (service === undefined) throw new BadParameter("parameter 'service' is required")
  return searchFor('jaeger', { condition, from, to, limit })
}

/** A search through Jaeger's newer API, for whole traces or for what a list of them shows. */
export function readV3Search(shape: 'jaegerV3' | 'jaegerSummaries', parameters: Parameters): TraceQuestion {
  const names = (snake: string): [string, string] => [`query.${camel(snake)}`, `query.${snake}`]
  const service = parameters.text(...names('service_name'))
  const operation = parameters.text(...names('operation_name'))
  const [from, to] = [
    parameters.rfc3339(...names('start_time_min')),
    parameters.rfc3339(...names('start_time_max')),
  ]
  const condition = [
    hasTags('query.attributes', parameters.text('query.attributes')),
    lasts(parameters.duration(...names('duration_min')), parameters.duration(...names('duration_max'))),
  ].reduce(both, isOf(service, operation))
  const depth = [...names('search_depth'), 'query.numTraces', 'query.num_traces']
  const limit = parameters.count(depth, TRACES, MAX_TRACES)
  parameters.pass(ANY_BOOLEAN, ...names('raw_traces'))
  if (from === undefined || to === undefined)
    throw new BadParameter('query.startTimeMin and query.startTimeMax are required, in RFC 3339')
  if (from >= to) throw new BadParameter('query.startTimeMin must be before query.startTimeMax')
  return searchFor(shape, { condition, from, to, limit })
}

/** `start_time_min` is startTimeMin, as protobuf's JSON has it. */
export function camel(snake: string): string {
  return snake.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function searchFor(
  shape: 'jaeger' | 'jaegerV3' | 'jaegerSummaries',
  asking: { condition: Condition; from: bigint | undefined; to: bigint | undefined; limit: number },
): TraceQuestion {
  const { condition, from, to, limit } = asking
  const range = { ...(from !== undefined && { fromNs: from }), ...(to !== undefined && { toNs: to }) }
  return { kind: 'searchTraces', shape, search: { condition, ...range, limit, spansPerTrace: 0 } }
}
