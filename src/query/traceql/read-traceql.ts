import { checkQuery, metricsIn } from './check-types.ts'
import { checkConditions, conditionsOf, withLists } from './conditions.ts'
import { parseTraceQl } from './parse-traceql.ts'
import type { Query } from './syntax.ts'

/** A query that can be answered. Throws TraceQlError with what is wrong with any other. */
export function readTraceQl(text: string): Query {
  const query = parseTraceQl(text)
  checkQuery(query)
  const pipelines =
    query.metric === undefined ? [query.pipeline] : metricsIn(query.metric).map((one) => one.pipeline)
  for (const pipeline of pipelines) checkConditions(conditionsOf(withLists(pipeline)))
  return query
}
