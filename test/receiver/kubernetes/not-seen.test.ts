import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Authority } from '../../../lab/harness/certificates.ts'
import { examineEvents } from '../../../src/receiver/k8s-events/examine-events.ts'
import { examineObjects } from '../../../src/receiver/k8s-objects/examine-objects.ts'
import { answerStatus, TestApiServer } from '../../cluster/support/test-api-server.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'causeway-not-seen-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** What doctor is told by a receiver that is to ask this server. */
async function examined(
  server: string,
  { namespaces = [] as string[], examine = examineObjects } = {},
): Promise<string[]> {
  const kubeconfig = join(directory, 'config')
  const clusters = [{ name: 'c', cluster: { server } }]
  const contexts = [{ name: 'x', context: { cluster: 'c', user: '' } }]
  writeFileSync(kubeconfig, JSON.stringify({ 'current-context': 'x', clusters, contexts }))
  const settings = { cluster: 'test', authType: 'kubeConfig' as const, kubeconfig, namespaces }
  const found: string[] = []
  const asked = { ...settings, objects: [], discoveryIntervalMs: 1_000 }
  for await (const one of examine('k8s', asked))
    found.push(`${one.state}: ${one.message} → ${'advice' in one ? one.advice : ''}`)
  return found
}

function answering(api: TestApiServer, path: string, answer: (response: ServerResponse) => void): void {
  api.instead.push(({ url = '' }, response) => {
    if (!url.startsWith(path)) return false
    answer(response)
    return true
  })
}

test.each<[string, (response: ServerResponse) => void, RegExp]>([
  [
    'a token that has run out',
    (response) => answerStatus(response, 401, 'Unauthorized'),
    /does not reach the cluster test: it does not know who asks \(it says Unauthorized\): .* → log in again as for kubectl/,
  ],
  [
    'somebody who may not even ask which resources there are',
    (response) => answerStatus(response, 403, 'Forbidden'),
    /it says Forbidden → let it ask .* ClusterRole system:discovery/,
  ],
  [
    'a server that is in trouble',
    (response) => answerStatus(response, 503, 'ServiceUnavailable'),
    /→ see how the API server is/,
  ],
  [
    'a page for browsers, refused',
    (response) => response.writeHead(404).end('<!doctype html><title>Not here</title>'),
    /test: it answered 404 → correct its address: the server in the kubeconfig is no API server/,
  ],
  [
    'a page for browsers',
    (response) => response.end('<!doctype html><title>Welcome</title>'),
    /it sent no JSON → correct its address: the server in the kubeconfig is no API server/,
  ],
  [
    'an answer that breaks off',
    (response) => response.writeHead(200).write('{', () => response.destroy()),
    /the connection broke off in the middle of an answer → start the API server/,
  ],
  [
    'a connection that is closed at once',
    (response) => response.destroy(),
    /the connection was closed before an answer came → start the API server/,
  ],
])('%s: it is said what to do', async (_, answer, said) => {
  await using api = await TestApiServer.start()
  answering(api, '/api', answer)
  expect(await examined(api.url)).toEqual([expect.stringMatching(said)])
  expect(await examined(api.url, { examine: examineEvents })).toEqual([
    expect.stringMatching(said.source.includes('reach') ? /log in again/ : said),
  ])
})

test('a certificate that is not trusted is told from a server that is not there', async () => {
  const { cert, key } = new Authority('nobody knows').issue()
  const server = createServer({ cert, key })
  const { promise, resolve } = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => resolve(undefined))
  await promise
  try {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    expect(await examined(url)).toEqual([
      expect.stringMatching(
        /its certificate is not trusted: [^;]* → name who signed it in certificate-authority of the kubeconfig/,
      ),
    ])
  } finally {
    server.close()
  }
})

test('of many resources that may not be seen, a few are named, and the rules for all stand a line each', async () => {
  await using api = await TestApiServer.start()
  api.served = ['a.io', 'z'].flatMap((group) =>
    ['h', 'g', 'f', 'e', 'd'].map((resource) => ({ group, version: 'v1', resource, kind: 'K' })),
  )
  answering(api, '/apis/a.io/v1/', (response) => answerStatus(response, 403, 'Forbidden'))
  answering(api, '/apis/z/v1/e', (response) => answerStatus(response, 403, 'Forbidden'))
  answering(api, '/apis/z/v1/d', (response) => answerStatus(response, 403, 'Forbidden'))
  const [, found] = await examined(api.url)
  expect(found).toBe(
    'warn: k8s may not list and watch 7 of 10 resources: z/v1/d, z/v1/e, a.io/v1/d, a.io/v1/e, a.io/v1/f and 2 more' +
      ' → add to the rules of its ClusterRole:\n' +
      '- { apiGroups: ["a.io"], resources: [d, e, f, g, h], verbs: [list, watch] }\n' +
      '- { apiGroups: ["z"], resources: [d, e], verbs: [list, watch] }',
  )
})
