import { PATHS, type ApiPath } from './paths.ts'
import { ref, text, type Schema } from './schema.ts'
import { SCHEMAS } from './schemas.ts'
import { ownValue } from '../../model/own-value.ts'

interface Parameter {
  readonly description: string
  readonly schema: Schema
  readonly required?: boolean
}

const ANY_CPID = {
  type: 'string',
  pattern: '^([0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$',
}

const PATH_PARAMETERS: Readonly<Record<string, Parameter>> = {
  cpid: { description: 'A CPID in any case, with or without dashes', schema: ANY_CPID },
  root: { description: 'The root CPID of a cascade', schema: ANY_CPID },
  other: { description: 'The root CPID of another cascade', schema: ANY_CPID },
  spanId: {
    description: 'A span id: 16 hex digits',
    schema: { type: 'string', pattern: '^[0-9A-Fa-f]{16}$' },
  },
}

const QUERY_PARAMETERS: Readonly<Record<string, Parameter>> = {
  limit: { description: 'How many at most', schema: { type: 'integer', minimum: 1, maximum: 10_000 } },
  after: { description: 'The `next` of an earlier answer from the same path', schema: text() },
  state: {
    description: 'Only open or only settled ones',
    schema: { type: 'string', enum: ['open', 'settled'] },
  },
  object: {
    description:
      'The object of the root mergelog: a reference, or whole parts of one between slashes, such as its name',
    schema: text(),
  },
  service: { description: 'A service that has spans in it or began it', schema: text() },
  cluster: { description: 'The cluster of whoever began it', schema: text() },
  from: {
    description: 'Active at this time or later (RFC 3339)',
    schema: { type: 'string', format: 'date-time' },
  },
  to: {
    description: 'Active at this time or before (RFC 3339)',
    schema: { type: 'string', format: 'date-time' },
  },
  trace: {
    description:
      'The trace in which the span is meant, 32 hex digits; else all traces of the cascade are searched',
    schema: { type: 'string', pattern: '^[0-9A-Fa-f]{32}$' },
  },
  ref: {
    description: 'An object reference with or without its query, the beginning of one, or a name',
    schema: text(),
    required: true,
  },
  q: {
    description: "A CPID in any form, a trace id, or a part of an object's name",
    schema: text(),
    required: true,
  },
}

const FAILURES: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  401: 'A credential that is known has to be shown',
  403: 'It came by a name that is not this server’s, or from a page of another origin',
  404: 'Nothing is known by this name',
  410: 'Retention removed it',
  503: 'Too many passwords are being checked; ask again in a second',
}
/** What the door answers, before any path is looked at. */
const AT_THE_DOOR = [401, 403, 503]

/** The OpenAPI document of the API under /api/v1. */
export function openApiDocument(version: string): unknown {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Causeway',
      version,
      description:
        'Cascades, merge graph and everything stored, to be read. Answers carry an ETag; with If-None-Match what has ' +
        'not changed is answered 304. Large answers are streamed. A parameter that a path does not have is refused, by its name.',
    },
    servers: [{ url: '/api/v1' }],
    paths: Object.fromEntries(PATHS.map((path) => [path.path, { get: operationOf(path) }])),
    components: { schemas: SCHEMAS },
  }
}

function operationOf({ path, summary, query, answer, failures }: ApiPath): unknown {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  return {
    operationId: operationIdOf(path),
    summary,
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', ...ownValue(PATH_PARAMETERS, name), required: true })),
      ...query.map((name) => ({ name, in: 'query', ...ownValue(QUERY_PARAMETERS, name) })),
    ],
    responses: {
      200: { description: 'The answer', content: { 'application/json': { schema: answer } } },
      ...(path !== '/dashboard' &&
        path !== '/openapi.json' && { 304: { description: 'It has not changed' } }),
      ...Object.fromEntries(
        [...failures, ...AT_THE_DOOR].map((status) => [
          status,
          {
            description: FAILURES[status],
            content: { 'application/json': { schema: ref('Error') } },
          },
        ]),
      ),
    },
  }
}

/** `/cpids/{cpid}/related` is getCpidsCpidRelated. */
function operationIdOf(path: string): string {
  const words = path.split(/[^\w]+/).filter((word) => word !== '')
  return `get${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')}`
}
