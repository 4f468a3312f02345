import { afterAll, expect, test } from '@jest/globals'
import { FIRST, manyCascades, THEN, type Values, valuesFor } from './support/parameter-values.ts'
import { QueryApi } from './support/query-api.ts'

interface Parameter {
  name: string
  in: 'path' | 'query'
  required?: boolean
}
const api = await QueryApi.over(manyCascades)
afterAll(() => api[Symbol.asyncDispose]())
const answer = await api.fetch('/api/v1/openapi.json')
const { paths } = (await answer.json()) as { paths: Record<string, { get: { parameters: Parameter[] } }> }

const described = Object.entries(paths).flatMap(([path, { get }]) =>
  get.parameters.map(({ name }) => [path, name] as const),
)
const parametersOf = (path: string): Parameter[] => paths[path]?.get.parameters ?? []
const namesBehind = (path: string): string[] =>
  parametersOf(path).flatMap((one) => (one.in === 'query' ? [one.name] : []))

/** The path with these values, of which it takes those that it needs, and those that are named. */
function targetOf(path: string, values: Values, named: readonly string[]): string {
  const search = new URLSearchParams()
  for (const { name, in: where, required } of parametersOf(path))
    if (where === 'query' && (required === true || named.includes(name))) search.set(name, values[name] ?? '')
  for (const name of named) if (!namesBehind(path).includes(name)) search.set(name, values[name] ?? '')
  return `/api/v1${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')}?${search.toString()}`
}

async function ask(target: string): Promise<{ status: number; text: string }> {
  const response = await api.fetch(target)
  return { status: response.status, text: await response.text() }
}

/** In another trace the span is not found; whatever else is asked for, there is an answer. */
const statusWith = (name: string): number => (name === 'trace' ? 404 : 200)

/** What leads on from the first item. */
async function nextOf(target: string): Promise<string> {
  const { text } = await ask(target)
  return (JSON.parse(text) as { next: string }).next
}

test.each(described)('%s answers something else with another %s', async (path, name) => {
  const { first: values, then } = valuesFor(path)
  const isIn = parametersOf(path).some((one) => one.name === name && one.in === 'path')
  // Where a part begins is told by the part before, which is asked about in the same way.
  const given = name === 'after' ? ['limit'] : []
  const limited = { ...values, limit: '1' }
  const without = targetOf(path, limited, given)
  const changed = name === 'after' ? await nextOf(without) : then[name]
  const withIt = targetOf(path, { ...limited, [name]: changed ?? '' }, isIn ? given : [...given, name])
  expect([path, name, changed]).toEqual([path, name, expect.any(String)])
  const [before, after] = [await ask(without), await ask(withIt)]
  expect({ target: without, ...before }).toMatchObject({ status: 200 })
  // It is not time that changes the answer.
  expect(await ask(without)).toEqual(before)
  expect({ target: withIt, ...after }).toMatchObject({ status: statusWith(name) })
  expect({ target: withIt, text: after.text }).not.toEqual({ target: withIt, text: before.text })
})

test.each(Object.keys(paths))('%s reads what is described of it and nothing else', async (path) => {
  const read = new Set<string>()
  using watched = new DisposableStack()
  for (const method of ['get', 'getAll', 'has'] as const) {
    const real = Reflect.get(URLSearchParams.prototype, method) as (name: string) => unknown
    const noting = function (this: URLSearchParams, name: string): unknown {
      read.add(name)
      return real.call(this, name)
    }
    Reflect.set(URLSearchParams.prototype, method, noting)
    watched.defer(() => void Reflect.set(URLSearchParams.prototype, method, real))
  }
  await ask(targetOf(path, FIRST, []))
  expect([...read].sort()).toEqual(namesBehind(path).sort())
})

test.each(Object.keys(paths))('%s refuses what is described of other paths alone', async (path) => {
  const own = new Set(namesBehind(path))
  const others = [...new Set(described.map(([, name]) => name))].filter((name) => !own.has(name))
  for (const name of others) {
    const { status, text } = await ask(targetOf(path, { ...THEN, ...FIRST, after: 'x' }, [name]))
    expect([name, status, text]).toEqual([name, 400, expect.stringContaining('what is understood here: ')])
  }
})
