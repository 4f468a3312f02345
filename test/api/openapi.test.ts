import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { z } from 'zod'
import { hexSpan, cpid } from '../support/otlp-requests.ts'
import { QueryApi } from './support/query-api.ts'
import { REPLICASET, webCascades } from './support/web-cascade.ts'

interface Operation {
  operationId: string
  parameters: { name: string; in: string; required?: boolean }[]
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}
interface Document {
  openapi: string
  paths: Record<string, { get: Operation }>
  components: { schemas: Record<string, object> }
}

let api: QueryApi
let document: Document

beforeAll(async () => {
  api = await QueryApi.over(webCascades)
  document = (await api.get('openapi.json')).body as Document
})
afterAll(() => api[Symbol.asyncDispose]())

/** Throws where the answer is not of the shape. */
function check(schema: object, body: unknown): void {
  const whole = JSON.parse(
    JSON.stringify({ ...schema, $defs: document.components.schemas }).replaceAll(
      '#/components/schemas/',
      '#/$defs/',
    ),
  ) as Parameters<typeof z.fromJSONSchema>[0]
  z.fromJSONSchema(whole).parse(body)
}

const VALUES: Record<string, string> = {
  cpid: cpid(2),
  root: cpid(1).replaceAll('-', ''),
  other: cpid(11).toUpperCase(),
  spanId: hexSpan(11),
  limit: '3',
  state: 'settled',
  cause: 'operator',
  object: 'web',
  service: 'replicaset-controller',
  cluster: 'kind',
  from: '2026-01-01T00:00:00Z',
  to: '2026-01-01T08:00:00.5+02:00',
  trace: cpid(1).replaceAll('-', ''),
  ref: REPLICASET,
  q: 'web',
  contains: 'pod',
}

const pathOf = (path: string): string =>
  path.slice(1).replaceAll(/\{(\w+)\}/g, (_, name: string) => VALUES[name] ?? name)

const queryOf = (values: string[][]): string =>
  new URLSearchParams(Object.fromEntries(values) as Record<string, string>).toString()

const withQuery = (path: string, names: readonly string[]): string =>
  `${pathOf(path)}?${queryOf(names.map((name) => [name, VALUES[name] ?? '']))}`

const schemaOf = (operation: Operation, status: number): object =>
  operation.responses[status]!.content!['application/json']!.schema

const forEachPath = async (look: (path: string, operation: Operation) => Promise<void>): Promise<void> => {
  for (const [path, { get }] of Object.entries(document.paths)) await look(path, get)
}

test('the document is of OpenAPI 3.1, its operations have names of their own, its references lead somewhere', () => {
  expect(document.openapi).toBe('3.1.0')
  const names = Object.values(document.paths).map(({ get }) => get.operationId)
  expect(new Set(names).size).toBe(names.length)
  for (const [, name] of JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)) {
    expect(document.components.schemas).toHaveProperty(name!)
  }
})

test('every path answers in its shape, with each query parameter and without', async () => {
  await forEachPath(async (path, operation) => {
    const needed = operation.parameters
      .filter((one) => one.in === 'query' && one.required)
      .map(({ name }) => name)
    const optional = operation.parameters
      .filter((one) => one.in === 'query' && !one.required)
      .map(({ name }) => name)
    const tried = [needed, ...optional.map((name) => [...needed, name])]
    for (const names of tried.filter((one) => !one.includes('after'))) {
      const { status, body } = await api.get(withQuery(path, names))
      expect([path, names, status]).toEqual([path, names, 200])
      check(schemaOf(operation, 200), body)
      if (typeof body === 'object' && body !== null && 'next' in body && typeof body.next === 'string') {
        const rest = await api.get(`${withQuery(path, names)}&after=${body.next}`)
        expect(rest.status).toBe(200)
        check(schemaOf(operation, 200), rest.body)
      }
    }
  })
})

test('a parameter that is malformed is refused in the shape of an error', async () => {
  const wrong: Record<string, string> = {
    limit: '0',
    after: 'x',
    state: 'x',
    from: 'yesterday',
    to: '2026-13-01T00:00:00Z',
    trace: 'x',
    object: 'x'.repeat(1025),
    service: 'x'.repeat(1025),
    cluster: 'x'.repeat(1025),
    actor: 'x'.repeat(1025),
    namespace: 'x'.repeat(1025),
    ref: '',
    q: ' ',
  }
  await forEachPath(async (path, operation) => {
    for (const { name, in: where } of operation.parameters) {
      const values = {
        ...VALUES,
        ...(where === 'path' ? { [name]: 'nonsense' } : { [name]: wrong[name] ?? '' }),
      }
      const needed = operation.parameters.filter(
        (one) => one.in === 'query' && (one.required || one.name === name),
      )
      const target = path.slice(1).replaceAll(/\{(\w+)\}/g, (_, part: string) => values[part] ?? '')
      const query = queryOf(needed.map((one) => [one.name, values[one.name] ?? '']))
      const { status, body } = await api.get(`${target}?${query}`)
      expect([path, name, status]).toEqual([path, name, 400])
      check(schemaOf(operation, 400), body)
    }
  })
})

test('what is unknown is said in the shape of an error', async () => {
  await forEachPath(async (path, operation) => {
    if (operation.responses[404] === undefined) return
    const target = path
      .slice(1)
      .replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'spanId' ? hexSpan(99) : cpid(99)))
    const needed = operation.parameters.filter((one) => one.in === 'query' && one.required)
    const query = queryOf(needed.map(({ name }) => [name, VALUES[name] ?? '']))
    const { status, body } = await api.get(`${target}?${query}`)
    expect([path, status]).toEqual([path, 404])
    check(schemaOf(operation, 404), body)
  })
})

test('a shape is taken seriously', () => {
  expect(() => check({ $ref: '#/components/schemas/CpidFacts' }, { cpid: cpid(1) })).toThrow()
  expect(() => check({ $ref: '#/components/schemas/Cpid' }, 'nonsense')).toThrow()
})
