import { expect, test } from '@jest/globals'
import { ChildThread, type ThreadSettings } from '../../src/platform/child-thread.ts'

type Said =
  { kind: 'ready'; rows: number } | { kind: 'fatal'; reason: string } | { kind: 'echo'; text: string }

const SAYS = `import { parentPort, workerData } from 'node:worker_threads';`

/** A thread that runs this code. */
const running = (code: string, data?: unknown): ThreadSettings => ({
  name: 'sample',
  file: new URL(`data:text/javascript,${encodeURIComponent(SAYS + code)}`),
  data,
  youngMib: 2,
  oldMib: 16,
})

const starting = (code: string, data?: unknown): ReturnType<typeof ChildThread.start<string, Said>> =>
  ChildThread.start<string, Said>(running(code, data))

const ECHO = `parentPort.postMessage({ kind: 'ready', rows: workerData.rows });
  for (const text of ['before', 'anybody', 'listens']) parentPort.postMessage({ kind: 'echo', text });
  parentPort.on('message', (text) => text === 'stop' ? parentPort.close() : parentPort.postMessage({ kind: 'echo', text }));`

test('it is started when it says so, everything it says is heard in order, and it ends', async () => {
  const { thread, ready } = await starting(ECHO, { rows: 3 })
  expect(ready).toEqual({ kind: 'ready', rows: 3 })
  const heard: string[] = []
  const all = Promise.withResolvers<undefined>()
  thread.listen((message) => {
    if (message.kind === 'echo') heard.push(message.text)
    if (heard.length === 4) all.resolve(undefined)
  })
  thread.post('then')
  await all.promise
  expect(heard).toEqual(['before', 'anybody', 'listens', 'then'])
  thread.post('stop')
  expect(await thread.ended).toBe('exit code 0')
})

test.each([
  [`parentPort.postMessage({ kind: 'fatal', reason: 'give it a disk' })`, /^give it a disk$/],
  [
    `throw new RangeError('too much')`,
    /the sample thread ended before it was ready \(RangeError: too much, at /,
  ],
  [`process.exit(7)`, /the sample thread ended before it was ready \(exit code 7\)/],
  [`parentPort.postMessage({ kind: 'echo', text: 'early' })`, /the sample thread began with "echo"/],
])('one that cannot start says why: %s', async (code, why) => {
  await expect(starting(code)).rejects.toThrow(why)
})

const READY = `parentPort.postMessage({ kind: 'ready', rows: 0 });`

test.each([
  [
    `parentPort.once('message', () => { throw new TypeError('no such row') })`,
    /^TypeError: no such row, at /,
  ],
  [`parentPort.once('message', () => { throw 'a word' })`, /^a word$/],
  [`parentPort.once('message', () => { process.exit(3) })`, /^exit code 3$/],
  [
    `parentPort.once('message', () => { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)) })`,
    /memory limit/,
  ],
  [`parentPort.once('message', () => { Promise.reject(new Error('nobody caught it')) })`, /nobody caught it/],
])('whatever ends it later is told: %s', async (code, why) => {
  const { thread } = await starting(READY + code)
  thread.post('now')
  expect(await thread.ended).toMatch(why)
})

test('one that is ended wherever it is says so', async () => {
  const { thread } = await starting(`${READY} parentPort.on('message', () => { for (;;); })`)
  thread.post('now')
  thread.terminate()
  expect(await thread.ended).toBe('exit code 1')
})
