import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Cpid } from '../../model/merge-graph.ts'
import type { Absent } from '../../model/queries.ts'

const PROGRAM = fileURLToPath(new URL('./sql-process.ts', import.meta.url))

/**
 * Runs one SQL query in a process of its own, which is killed if it takes longer than `timeoutMs`. Rejects with an Error that says what to
 * do.
 */
export async function askSql(
  question: SqlQuestion,
  timeoutMs: number,
  onAnswer: (answer: FromSql) => void,
): Promise<void> {
  const child = fork(PROGRAM, { execArgv: ['--no-warnings'], serialization: 'advanced' })
  const ended = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => {
    ended.reject(
      new Error(
        `the query took longer than ${timeoutMs / 1000} s and was ended; narrow it, for instance with LIMIT or WHERE, or raise --timeout`,
      ),
    )
  }, timeoutMs)
  child.on('message', (answer: FromSql) => {
    if (answer.kind === 'failed') ended.reject(new Error(answer.message))
    onAnswer(answer)
    if (answer.kind === 'done') ended.resolve(undefined)
  })
  child.once('error', (error) =>
    ended.reject(new Error(`cannot start a process to ask in: ${error.message}; try again`)),
  )
  child.once('exit', (code, signal) => {
    ended.reject(
      new Error(
        `the process that ran the query ended early (${signal ?? code}); narrow the query and try again`,
      ),
    )
  })
  child.send(question)
  try {
    await ended.promise
  } finally {
    clearTimeout(timer)
    await end(child)
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

export interface SqlQuestion {
  path: string
  sql: string
  maxRows: number
}

/** A value as SQLite returns it: integers are bigints, BLOBs are bytes. */
export type SqlValue = null | bigint | number | string | Uint8Array

/** Messages from the process that runs the query. */
export type FromSql =
  | { kind: 'columns'; names: string[] }
  | { kind: 'rows'; rows: SqlValue[][] }
  | { kind: 'absent'; cpid: Cpid; why: Absent }
  | { kind: 'done'; cut: boolean }
  | { kind: 'failed'; message: string }
