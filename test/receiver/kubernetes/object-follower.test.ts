import { expect, test } from '@jest/globals'
import { eventually } from '../../../lab/harness/eventually.ts'
import type { Observation } from '../../../src/model/kubernetes-observations.ts'
import { TestApiServer } from '../../cluster/support/test-api-server.ts'
import { MemoryObservations } from './support/memory-observations.ts'
import { STREAM, Watching } from './support/watching.ts'

const summaryOf = (told: Observation): string =>
  `${told.source} ${told.object.name}@${told.version ?? ''}${told.source === 'watch' ? ` ${told.by}` : ''}`

const position = (port: MemoryObservations): string | undefined => port.positions.get(`test ${STREAM}`)

test('what was told from a first list that broke off, and went before the next, has vanished', async () => {
  await using api = await TestApiServer.start()
  const port = new MemoryObservations()
  for (const name of ['a', 'b', 'c']) api.history.put({ name })
  api.brokenLists = 1
  api.instead.push(() => {
    if (api.requests.length === 2) api.history.remove({ name: 'a' })
    return false
  })
  await using watching = new Watching(api, port)
  await eventually(() => expect(watching.lists).toEqual(['104']))
  expect(port.told.map(summaryOf)).toEqual([
    ...['watch a@101 first list', 'watch b@102 first list'],
    ...['watch b@102 first list', 'watch c@103 first list', 'list a@104'],
  ])
})

test('of a later list nothing is told to have vanished that is elsewhere, newer, or there', async () => {
  await using api = await TestApiServer.start()
  const port = new MemoryObservations()
  for (const name of ['a', 'b', 'c', 'd']) api.history.put({ name })
  const first = new Watching(api, port)
  await eventually(() => expect(position(port)).toBe('104'))
  await first[Symbol.asyncDispose]()
  api.history.remove({ name: 'b' })
  api.history.compact()
  const object = {
    apiVersion: 'example.com/v1',
    resource: 'widgets',
    namespace: 'default',
    name: 'newer',
    uid: 'x',
  }
  port.known.set('x', { identity: object, version: 900n })
  await using watching = new Watching(api, port)
  await eventually(() => expect(watching.lists).toEqual(['105']))
  expect(port.told.filter(({ source }) => source === 'list').map(summaryOf)).toEqual(['list b@105'])
})

test('a resource whose versions are no integers is left out, and said so', async () => {
  await using api = await TestApiServer.start()
  const port = new MemoryObservations()
  await using watching = new Watching(api, port)
  await eventually(() => expect(watching.lists).toHaveLength(1))
  api.write(
    `${JSON.stringify({ type: 'ADDED', object: { metadata: { name: 'a', uid: 'u', resourceVersion: '7-x' } } })}\n`,
  )
  await watching.ended
  expect(watching.refused).toEqual([expect.stringContaining('no integers')])
})

test('a custom resource that is nested as deep as an API server takes it keeps no other from being seen', async () => {
  await using api = await TestApiServer.start()
  const port = new MemoryObservations()
  await using watching = new Watching(api, port)
  await eventually(() => expect(watching.lists).toHaveLength(1))
  const deep = `${'{"a":'.repeat(9_990)}1${'}'.repeat(9_990)}`
  const line = (name: string, version: number, spec: string): string =>
    `{"type":"ADDED","object":{"metadata":{"name":"${name}","uid":"${name}","resourceVersion":"${version}"},"spec":${spec}}}\n`
  api.write(`${line('before', 101, '{}')}${line('deep', 102, deep)}${line('after', 103, '{}')}`)
  await eventually(() => expect(position(port)).toBe('103'))
  expect(port.told.map(summaryOf)).toEqual([
    ...['watch before@101 event', 'watch deep@102 event', 'watch after@103 event'],
  ])
  expect(api.requests).toHaveLength(1)
})
