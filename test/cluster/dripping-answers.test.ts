import type { ServerResponse } from 'node:http'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { ApiServer } from '../../src/kube/cluster/api-server.ts'
import { Backoff } from '../../src/kube/cluster/flow-control.ts'
import { Followed, noWaiting } from './support/followed.ts'
import { TestApiServer } from './support/test-api-server.ts'

/** No silence is ever as long as a time limit. */
const EVERY_MS = 20
const SILENCE_MS = 2_000

/** Answers byte by byte, without an end. */
function drip(status: number, response: ServerResponse): true {
  response.writeHead(status, { 'content-type': 'application/json' })
  const timer = setInterval(() => response.write(' '), EVERY_MS)
  response.on('close', () => clearInterval(timer))
  return true
}

/** The head of an answer, byte by byte. */
function dripHead({ socket }: ServerResponse): true {
  socket?.write('HTTP/1.1 200 OK\r\nX-More: ')
  const timer = setInterval(() => socket?.write('x'), EVERY_MS)
  socket?.on('close', () => clearInterval(timer))
  return true
}

test.each([
  ['an answer', (response: ServerResponse) => drip(200, response)],
  ['a refusal', (response: ServerResponse) => drip(500, response)],
  ['the head of an answer', dripHead],
])('%s that an API server gives byte by byte is given up', async (_, answer) => {
  await using api = await TestApiServer.start()
  using server = new ApiServer(api.access)
  api.instead.push((_request, response) => answer(response))
  const asked = server.json('/api', 1_000_000, { answerMs: 200 })
  await expect(asked).rejects.toThrow('its answer took longer than 0.2 s')
})

test('a watch that goes on for longer than was asked for is asked for anew, and nothing is lost', async () => {
  await using api = await TestApiServer.start()
  await using followed = new Followed()
  let dripped = 0
  api.instead.push(({ url = '' }, response) => {
    if (!url.includes('watch=true') || dripped++ > 0) return false
    api.history.put({ name: 'meanwhile' })
    return drip(200, response)
  })
  // It goes on from there with a watch, which drips at once.
  followed.stored = String(api.history.version)
  followed.follow(api, { watchMs: 50, silenceMs: SILENCE_MS })
  await eventually(() => expect(followed.told.at(-1)).toMatch(/^ADDED meanwhile/))
  expect(followed.told.filter((told) => told.includes('meanwhile'))).toHaveLength(1)
  expect(followed.troubles).toEqual([])
})

test('a list in a watch without an end gives its place to others', async () => {
  await using api = await TestApiServer.start()
  await using followed = new Followed()
  api.history.put({ name: 'a' })
  api.instead.push(({ url = '' }, response) => url.includes('sendInitialEvents=true') && drip(200, response))
  followed.follow(api, { watchMs: 50, silenceMs: SILENCE_MS })
  await eventually(() => expect(followed.told.at(-1)).toMatch(/^list ends/))
  expect(followed.told).toContain('ADDED a@101 first list')
})

test.each([Infinity, 1e15, 2 ** 31])(
  'a server that says to come again in %d ms is asked in five minutes',
  async (ms) => {
    const slept: number[] = []
    await new Backoff(noWaiting(slept)).pause(new AbortController().signal, ms)
    expect(slept).toEqual([300_000])
  },
)
