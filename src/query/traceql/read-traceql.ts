import { checkQuery } from './check-types.ts'
import { conditionsOf, withLists } from './conditions.ts'
import { FetchPlan } from './fetch-plan.ts'
import { parseTraceQl } from './parse-traceql.ts'
import { MatchingEffort } from './regular-expression.ts'
import type { Query } from './syntax.ts'

/** A query that can be answered. Throws TraceQlError with what is wrong with any other. */
export function readTraceQl(text: string): Query {
  const query = parseTraceQl(text)
  checkQuery(query)
  // What cannot be read of a span is known by now.
  void new FetchPlan(conditionsOf(withLists(query.pipeline)), new MatchingEffort())
  return query
}
