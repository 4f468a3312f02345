import { z } from 'zod'
import { PARAMETERS, type Parameter } from '../routes/parameters.ts'
import type { Route } from '../routes/route.ts'

/** The shape of every failure. */
export const ErrorAnswer = z
  .strictObject({
    error: z.strictObject({
      code: z.string().describe('for programs'),
      message: z.string().describe('what to do next'),
    }),
  })
  .meta({ id: 'Error' })

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
export function openApiDocument(routes: readonly Route[], version: string): unknown {
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
      200: { description: 'The answer', content: jsonOf(answer) },
      ...(ask !== undefined && { 304: { description: 'It has not changed' } }),
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

/** `/cpids/{cpid}/related` is getCpidsCpidRelated. */
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

/** Whole numbers are not said to be those that a double can hold. */
function withoutBounds({
  jsonSchema,
}: {
  jsonSchema: { type?: unknown; minimum?: unknown; maximum?: unknown }
}): void {
  if (jsonSchema.type !== 'integer') return
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
