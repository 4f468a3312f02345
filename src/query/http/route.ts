import { z } from 'zod'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import { parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import type { Question } from '../question.ts'
import type { Failure } from './replies.ts'

type Name = keyof typeof PARAMETERS
type ValueOf<N extends Name> = (typeof PARAMETERS)[N] extends Parameter<infer Value> ? Value : never
/** The names of the parameters in a path, which are in braces. */
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

/** Facts about the server; answering them needs no database. */
export interface ServerInfo {
  readonly version: string
  /** The URL template of a trace in a backend, with {trace_id} and {span_id}. */
  readonly traceUrl: string | undefined
  /** Whether an archive is queried as well. */
  readonly archive?: boolean
}

export interface Route {
  /** The path, with parameters in braces. */
  readonly path: string
  readonly summary: string
  readonly query: readonly Name[]
  readonly answer: z.ZodType
  /** Status codes of failures, besides those that every path has. */
  readonly failures: readonly number[]
  /** Makes the question of a request from its parameters. */
  readonly ask?: (values: Readonly<Record<string, unknown>>) => Question
  /** Makes the answer of a path without a question. */
  readonly tell?: (about: ServerInfo) => unknown
}

interface RouteSettings<Path extends string, Query extends Name> {
  readonly summary: string
  readonly query?: readonly Query[]
  readonly answer: z.ZodType
  readonly ask: (given: Given<Path, Query>) => Question
}

const MALFORMED = [400]
/** The failures of a path with a CPID: the CPID is malformed, unknown or pruned. */
const OF_A_CPID = [400, 404, 410]

/** A path that is answered by asking a question. */
export function route<const Path extends string, const Query extends Name = never>(
  path: Path,
  { summary, query = [], answer, ask }: RouteSettings<Path, Query>,
): Route {
  const failures = path.includes('{') ? OF_A_CPID : MALFORMED
  return { path, summary, query, answer, failures, ask: (values) => ask(values as Given<Path, Query>) }
}

/** A path that is answered without a question. */
export function aboutRoute(
  path: string,
  { summary, answer, tell }: Required<Pick<Route, 'summary' | 'answer' | 'tell'>>,
): Route {
  return { path, summary, query: [], answer, failures: MALFORMED, tell }
}

/** A parameter of the API: its documentation and its parser. */
export interface Parameter<Value> {
  readonly description: string
  /** Its JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>
  /** Parses the value, or says why it is invalid; undefined for a text that counts as absent. */
  readonly read: (text: string) => { readonly value: Value } | Failure | undefined
  /** The failure if the parameter is absent; undefined for optional parameters. */
  readonly missing?: Failure
}

/** A required parameter. */
interface NeededParameter<Value> extends Parameter<Value> {
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

/** A search text; an empty one counts as absent. */
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
  description: 'The largest number of items in the answer.',
  schema: { type: 'integer', minimum: 1, maximum: MAX_LIMIT },
  read: (given) => {
    const value = WHOLE_NUMBER.test(given) ? Number(given) : 0
    return value >= 1 && value <= MAX_LIMIT ? { value } : 'badLimit'
  },
}

const state: Parameter<'open' | 'settled'> = {
  description: 'Returns only cascades in this state.',
  schema: { type: 'string', enum: ['open', 'settled'] },
  read: (given) => (given === 'open' || given === 'settled' ? { value: given } : 'badState'),
}

const cause: Parameter<'operator' | 'self'> = {
  description:
    'Returns only cascades that somebody began (`operator`), or that a controller began by itself (`self`).',
  schema: { type: 'string', enum: ['operator', 'self'] },
  read: (given) => (given === 'operator' || given === 'self' ? { value: given } : 'badCause'),
}

const after: Parameter<string> = {
  description: 'The `next` of the previous answer from the same path.',
  schema: { type: 'string' },
  read: (value) => ({ value }),
}

/** Every parameter of the API, in a path or a query string. */
export const PARAMETERS = {
  cpid: cpid('A CPID in upper or lower case, with or without dashes.'),
  root: cpid('The root CPID of a cascade.'),
  other: cpid('The root CPID of another cascade.'),
  spanId: id('A span id as 16 hex digits.', 16, 'badSpanId'),
  trace: id(
    'The id of the trace that the span is in, as 32 hex digits. By default all traces of the cascade are searched.',
    32,
    'badTraceId',
  ),
  limit,
  after,
  state,
  cause,
  object: text(
    'Returns only cascades with this object in the root’s mergelog: a reference, or whole parts of one between slashes, such as the name.',
  ),
  service: text('Returns only cascades that this service has spans in, or began.'),
  cluster: text('Returns only cascades that were begun in this cluster.'),
  actor: text(
    'Returns only cascades in which this user wrote something, or that this service has spans in or began.',
  ),
  namespace: text('Returns only cascades that wrote into this namespace, or began with an object in it.'),
  from: time('Returns only cascades that were active at or after this time (RFC 3339).'),
  to: time('Returns only cascades that were active at or before this time (RFC 3339).'),
  ref: neededText(
    'An object reference with or without its query, the beginning of one, or a name.',
    'noReference',
  ),
  contains: neededText(
    'The text to search for, ignoring case. Attributes are searched as `key=value`.',
    'noText',
  ),
  q: neededText(
    "A CPID or at least its first eight digits, a trace id, or a part of an object's name.",
    'nothingToFind',
  ),
}

const ErrorAnswer = z
  .strictObject({
    error: z.strictObject({
      code: z.string().describe('The code of the failure, for programs.'),
      message: z.string().describe('What failed and what to do next, for people.'),
    }),
  })
  .meta({ id: 'Error' })

const FAILURES: Readonly<Record<number, string>> = {
  400: 'The request is malformed.',
  401: 'The request has no valid credential.',
  403: 'The Host header has a name that is not allowed, or the request came from a page of another origin.',
  404: 'Nothing with this id is known.',
  410: 'Retention has pruned it.',
  503: 'Too many passwords are being checked. Ask again in a second.',
}
/** Status codes of refusals before the path is read. */
const AT_THE_DOOR = [401, 403, 503]

/** The OpenAPI document of the API under /api/v1. */
export function openApiDocument(routes: readonly Route[], version: string): unknown {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Causeway',
      version,
      description:
        'Reads cascades, the merge graph and everything that is stored. Each answer has an ETag, and a request whose If-None-Match names it is answered 304 if nothing has changed. Large answers are streamed. A parameter that a path does not have is refused.',
    },
    servers: [{ url: '/api/v1' }],
    paths: Object.fromEntries(routes.map((route) => [route.path, { get: operationOf(route) }])),
    components: { schemas: componentSchemas() },
  }
}

function operationOf({ path, summary, query, answer, failures, ask }: Route): unknown {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name as keyof typeof PARAMETERS)
  return {
    operationId: operationIdOf(path),
    summary,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', ...described(PARAMETERS[name]), required: true })),
      ...query.map((name) => ({ name, in: 'query', ...described(PARAMETERS[name]) })),
    ],
    responses: {
      200: { description: 'The answer to the question.', content: jsonOf(answer) },
      ...(ask !== undefined && {
        304: { description: 'The answer has not changed since the ETag that was sent.' },
      }),
      ...Object.fromEntries(
        [...failures, ...AT_THE_DOOR].map((status) => [
          status,
          { description: FAILURES[status], content: jsonOf(ErrorAnswer) },
        ]),
      ),
    },
  }
}

function described({ description, schema, missing }: Parameter<unknown>): object {
  return { description, schema, ...(missing !== undefined && { required: true }) }
}

/** The operationId of a path: `/cpids/{cpid}/related` becomes getCpidsCpidRelated. */
function operationIdOf(path: string): string {
  const words = path.split(/[^\w]+/).filter((word) => word !== '')
  return `get${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`
}

const refOf = (id: string): string => `#/components/schemas/${id}`

function jsonOf(shape: z.ZodType): object {
  const id = shape.meta()?.id
  if (id === undefined) throw new Error('an answer of the API has no name')
  return { 'application/json': { schema: { $ref: refOf(id) } } }
}

/** The shapes of all answers and of what they are made of, by name. */
function componentSchemas(): object {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: refOf, override: withoutBounds })
  for (const schema of Object.values(schemas)) {
    delete schema.$schema
    delete schema.$id
  }
  return schemas
}

/** zod adds the bounds of safe integers to every integer; the document leaves them out. */
function withoutBounds({
  jsonSchema,
}: {
  jsonSchema: { type?: unknown; minimum?: unknown; maximum?: unknown }
}): void {
  if (jsonSchema.type !== 'integer') return
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
