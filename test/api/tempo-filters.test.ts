import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { cascadesForBackends } from './support/jaeger-exchanges.ts'
import { QueryApi } from './support/query-api.ts'

let api: QueryApi
beforeAll(async () => {
  api = await QueryApi.over(cascadesForBackends)
})
afterAll(() => api[Symbol.asyncDispose]())

async function answer(path: string, asked: Record<string, string>): Promise<unknown> {
  const response = await api.fetch(`/tempo/api/${path}?${new URLSearchParams(asked).toString()}`)
  expect(response.status).toBe(200)
  return response.json()
}

test.each<[asked: Record<string, string>, found: number[]]>([
  [{}, [22, 21, 11, 1]],
  [{ tags: 'service.name=no-such' }, []],
  [{ tags: 'service.name=replicaset-controller' }, [11, 1]],
  [{ tags: 'service.name=REPLICASET' }, [11, 1]],
  [{ tags: 'service.name=deployment-controller name="update replicaset"' }, [11, 1]],
  [{ tags: 'service.name=deployment-controller name="reconcile replicaset"' }, []],
  [{ tags: 'note=ünï' }, [11, 1]],
  [{ tags: 'count=3 flag=true' }, [22, 21]],
  [{ tags: 'count=4' }, []],
  [{ tags: 'status.code=error' }, [22, 21]],
  [{ tags: 'root.service.name=kubectl root.name=deployments' }, [11, 1]],
  [{ tags: 'root.name=daemonsets' }, []],
  [{ minDuration: '100ms' }, [11]],
  [{ maxDuration: '61ms' }, [22, 21, 1]],
  [{ minDuration: '50ms', maxDuration: '1s', tags: 'service.name=kubectl' }, [11, 1]],
  [{ q: '{ status = error }', maxDuration: '1ms' }, []],
])('a search for %j finds these', async (asked, expected) => {
  const { traces } = (await answer('search', asked)) as { traces: { traceID: string }[] }
  expect(traces.map(({ traceID }) => traceID)).toEqual(
    expected.map((number) => cpid(number).replaceAll('-', '')),
  )
})

test.each<[asked: Record<string, string>, status: number]>([
  [{ minDuration: '2s', maxDuration: '1s' }, 400],
  [{ start: '1767225600' }, 400],
  [{ start: '1767225600', end: '1767229200' }, 200],
  [{ end: '1767229200' }, 200],
  [{ limit: '262145' }, 400],
  [{ limit: '262144' }, 200],
])('a search for %j is answered with %i, as by Tempo', async (asked, status) => {
  const response = await api.fetch(`/tempo/api/search?${new URLSearchParams(asked).toString()}`)
  expect(response.status).toBe(status)
})

test('names and values are those of the spans asked for, and no more than asked for', async () => {
  const all = await answer('v2/search/tag/name/values', {})
  const some = await answer('v2/search/tag/name/values', {
    q: '{ resource.service.name = "replicaset-controller" }',
  })
  expect(some).toMatchObject({ tagValues: [{ type: 'string', value: 'reconcile replicaset' }] })
  expect(all).not.toEqual(some)
  const { tagValues } = (await answer('v2/search/tag/name/values', { limit: '2' })) as {
    tagValues: unknown[]
  }
  expect(tagValues).toHaveLength(2)
  const services = await answer('v2/search/tag/resource.service.name/values', {
    q: '{ name = "update replicaset" }',
  })
  expect(services).toMatchObject({ tagValues: [{ type: 'string', value: 'deployment-controller' }] })
  const tags = await answer('v2/search/tags', { scope: 'resource', q: '{ span.count = 3 }' })
  expect(tags).toMatchObject({ scopes: [{ name: 'resource', tags: ['replicas', 'service.name'] }] })
})
