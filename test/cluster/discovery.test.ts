import { expect, test } from '@jest/globals'
import { discover } from '../../src/kube/cluster/api-resources.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { answerStatus, type Instead, TestApiServer } from './support/test-api-server.ts'

const VERBS = ['get', 'list', 'watch']

test('what there is is discovered in one answer for the core and one for the groups', async () => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  api.served = [
    { group: '', version: 'v1', resource: 'pods', kind: 'Pod' },
    { group: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment' },
    { group: 'apps', version: 'v1', resource: 'deployments/scale', kind: 'Scale' },
    { group: 'apps', version: 'v1beta1', resource: 'deployments', kind: 'Deployment' },
  ]
  expect(await discover(server)).toEqual([
    { group: '', apiVersion: 'v1', resource: 'pods', kind: 'Pod', isNamespaced: true, verbs: VERBS },
    {
      group: 'apps',
      apiVersion: 'apps/v1',
      resource: 'deployments',
      kind: 'Deployment',
      isNamespaced: true,
      verbs: VERBS,
    },
  ])
  expect(api.requests).toEqual(['/api', '/apis'])
})

test('an older server is asked group by group, and one that is down keeps nobody from the others', async () => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  const groupVersion = (name: string): object => ({ groupVersion: name })
  const answers: Record<string, object> = {
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': {
      kind: 'APIGroupList',
      groups: [
        {
          name: 'apps',
          versions: [groupVersion('apps/v1beta1'), groupVersion('apps/v1')],
          preferredVersion: groupVersion('apps/v1'),
        },
        { name: 'down', versions: [groupVersion('down/v1')], preferredVersion: groupVersion('down/v1') },
      ],
    },
    '/api/v1': { resources: [{ name: 'nodes', kind: 'Node', namespaced: false, verbs: VERBS }] },
    '/apis/apps/v1': {
      resources: [{ name: 'deployments', kind: 'Deployment', namespaced: true, verbs: VERBS }],
    },
    '/apis/apps/v1beta1': { resources: [{ name: 'old', kind: 'Old', namespaced: true, verbs: VERBS }] },
  }
  const asBefore: Instead = ({ url = '' }, response) => {
    const answer = answers[url]
    if (answer === undefined) answerStatus(response, 503, 'ServiceUnavailable')
    else response.end(JSON.stringify(answer))
    return true
  }
  api.instead.push(asBefore)
  const found = await discover(server)
  expect(found.map(({ apiVersion, resource, isNamespaced }) => [apiVersion, resource, isNamespaced])).toEqual(
    [
      ['v1', 'nodes', false],
      ['apps/v1', 'deployments', true],
      ['apps/v1beta1', 'old', true],
    ],
  )
})

test('a server that switches to another protocol, which nobody asked for, has not answered', async () => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  api.instead.push((_, response) => {
    response.writeHead(101, { connection: 'upgrade', upgrade: 'else' }).end()
    return true
  })
  await expect(discover(server)).rejects.toThrow('switches to another protocol')
})

test('a discovery of millions of empty groups is refused before anything is made of it', async () => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  api.instead.push((_, response) => {
    response.end(`{"kind":"APIGroupDiscoveryList","items":[${'{},'.repeat(2_000_000)}{}]}`)
    return true
  })
  await expect(discover(server)).rejects.toThrow('hold')
})

test('a path of two slashes, as a program may ask for, leads to no other server', async () => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  expect(await server.json('//127.0.0.1:1/apis', 60_000)).toMatchObject({ kind: 'APIGroupDiscoveryList' })
})
