import type { z } from 'zod'
import type { Question } from '../../query/question.ts'
import type { Failure } from '../failure.ts'
import type { PARAMETERS, Parameter } from './parameters.ts'

type Name = keyof typeof PARAMETERS
type ValueOf<N extends Name> = (typeof PARAMETERS)[N] extends Parameter<infer Value> ? Value : never
/** The names in braces. */
type InPath<Path extends string> = Path extends `${string}{${infer N}}${infer Rest}`
  ? N | InPath<Rest>
  : never
type Given<Path extends string, Query extends Name> = {
  readonly [N in InPath<Path> & Name]: ValueOf<N>
} & {
  readonly [N in Query]: (typeof PARAMETERS)[N] extends { missing: Failure }
    ? ValueOf<N>
    : ValueOf<N> | undefined
}

/** What the API says of itself; it needs no database. */
export interface About {
  readonly version: string
  /** Where a trace can be seen, with {trace_id} and {span_id} to be filled in. */
  readonly traceUrl: string | undefined
}

export interface Route {
  /** Braces stand for parameters. */
  readonly path: string
  readonly summary: string
  readonly query: readonly Name[]
  readonly answer: z.ZodType
  /** Statuses of the failures it may have, besides those that every path has. */
  readonly failures: readonly number[]
  /** The question that it asks, given the values of its parameters. */
  readonly ask?: (values: Readonly<Record<string, unknown>>) => Question
  /** What Causeway says there of itself, where it asks nothing. */
  readonly tell?: (about: About) => unknown
}

interface RouteSettings<Path extends string, Query extends Name> {
  readonly summary: string
  readonly query?: readonly Query[]
  readonly answer: z.ZodType
  readonly failures?: readonly number[]
  readonly ask: (given: Given<Path, Query>) => Question
}

const MALFORMED = 400

/** A path that leads to a question. */
export function route<const Path extends string, const Query extends Name = never>(
  path: Path,
  { summary, query = [], answer, failures = [MALFORMED], ask }: RouteSettings<Path, Query>,
): Route {
  return { path, summary, query, answer, failures, ask: (values) => ask(values as Given<Path, Query>) }
}

/** A path at which Causeway tells of itself. */
export function aboutRoute(
  path: string,
  { summary, answer, tell }: Required<Pick<Route, 'summary' | 'answer' | 'tell'>>,
): Route {
  return { path, summary, query: [], answer, failures: [MALFORMED], tell }
}
