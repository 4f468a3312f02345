import { expect, test } from '@jest/globals'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { QueriesOnDemand } from '../../src/app/queries-on-demand.ts'
import { cpidOfDigits } from '../../src/model/cpid.ts'
import type { Question } from '../../src/query/question.ts'
import { figureSeven } from '../query/figure-seven.ts'
import { cpid } from '../support/otlp-requests.ts'

const QUESTION: Question = { kind: 'cpid', cpid: cpidOfDigits(cpid(2).replaceAll('-', '')) }

test('the thread is there while people ask', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  using writer = await figureSeven(path, {})
  await using queries = new QueriesOnDemand(path, { idleMs: 1 })
  expect(queries.isRunning).toBe(false)

  for (let time = 0; time < 2; time++) {
    expect(await queries.ask(QUESTION)).toMatchObject({ kind: 'found' })
    while (queries.isRunning) await turn()
  }
  expect(writer.db.open).toBe(true)
})

test('a question that failed stops no later one', async () => {
  using folder = freshFolder()
  const path = join(folder.path, 'causeway.db')
  await using queries = new QueriesOnDemand(path)
  await expect(queries.ask(QUESTION)).rejects.toThrow('cannot open the database')

  using writer = await figureSeven(path, {})
  expect(await queries.ask(QUESTION)).toMatchObject({ kind: 'found' })
  expect(writer.db.open).toBe(true)
})

test('nobody is answered after the end', async () => {
  const queries = new QueriesOnDemand('/nowhere/causeway.db')
  await queries[Symbol.asyncDispose]()
  await expect(queries.ask(QUESTION)).rejects.toThrow('shutting down')
})

function freshFolder(): Disposable & { path: string } {
  const path = mkdtempSync(join(tmpdir(), 'causeway-on-demand-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
