import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { expect, test } from '@jest/globals'
import { eventually } from '../../lab/harness/eventually.ts'
import { cpidOfDigits } from '../../src/model/merge-graph.ts'
import type { Question } from '../../src/query/question.ts'
import { QueryThreadClient, QueryThreads } from '../../src/query/threads/query-threads.ts'
import { figureSeven } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'

const QUESTION: Question = { kind: 'cpid', cpid: cpidOfDigits(cpid(2).replaceAll('-', '')) }

test('the thread is there while people ask', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  await using queries = new QueryThreads(path, { idleMs: 1 })
  expect(queries.isRunning).toBe(false)

  for (let time = 0; time < 2; time++) {
    expect(await queries.ask(QUESTION)).toMatchObject({ kind: 'found' })
    await eventually(() => expect(queries.isRunning).toBe(false))
  }
  expect(writer.db.open).toBe(true)
})

test('a question that failed stops no later one', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  await using queries = new QueryThreads(path)
  await expect(queries.ask(QUESTION)).rejects.toThrow('cannot open the database')

  using writer = await figureSeven(path, {})
  expect(await queries.ask(QUESTION)).toMatchObject({ kind: 'found' })
  expect(writer.db.open).toBe(true)
})

test('the thread rests after a question that could not be handed to it', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  await using queries = new QueryThreads(path, { idleMs: 1 })
  const uncopied = { kind: 'cpid', cpid: () => undefined } as unknown as Question
  await expect(queries.ask(uncopied)).rejects.toThrow('could not be cloned')
  await eventually(() => expect(queries.isRunning).toBe(false))

  expect(await queries.ask(QUESTION)).toMatchObject({ kind: 'found' })
  expect(writer.db.open).toBe(true)
})

test('a question that was given up is not waited for', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  await using thread = await QueryThreadClient.start({ path, salt: '', answers: 'any' })
  const gone = new AbortController()
  const asked = thread.ask(QUESTION, [], gone.signal)
  expect(thread.isAnswering).toBe(true)
  gone.abort()
  expect(thread.isAnswering).toBe(false)
  await expect(asked).rejects.toBe(gone.signal.reason)
  await expect(thread.ask(QUESTION, [], gone.signal)).rejects.toBe(gone.signal.reason)
  expect(await thread.ask(QUESTION, [], new AbortController().signal)).toMatchObject({ kind: 'found' })
  expect(writer.db.open).toBe(true)
})

test('one thread takes the place of one that has ended, however many ask at once', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  using started = startedThreads()
  await using queries = new QueryThreads(path)
  await queries.ask(QUESTION)
  await started.threads[0]?.terminate()

  const replies = await Promise.all(Array.from({ length: 3 }, () => queries.ask(QUESTION)))
  expect(replies.map(({ kind }) => kind)).toEqual(['found', 'found', 'found'])
  expect(started.threads).toHaveLength(2)
  expect(writer.db.open).toBe(true)
})

test('nobody is answered after the end', async () => {
  const queries = new QueryThreads('/nowhere/causeway.db')
  await queries[Symbol.asyncDispose]()
  await expect(queries.ask(QUESTION)).rejects.toThrow('shutting down')
})

function freshFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'causeway-on-demand-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

/** The threads that are started until this is disposed. */
function startedThreads(): Disposable & { threads: Worker[] } {
  const threads: Worker[] = []
  const note = (message: unknown): void => void threads.push((message as { worker: Worker }).worker)
  subscribe('worker_threads', note)
  return { threads, [Symbol.dispose]: () => unsubscribe('worker_threads', note) }
}
