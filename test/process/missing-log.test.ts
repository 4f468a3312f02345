import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, test } from '@jest/globals'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { askStored, storedProgress } from '../../lab/harness/causeway/stored-data.ts'
import { freshSettings, type CausewaySettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { spansRequest } from '../support/otlp-requests.ts'

leaveNothingBehind()

const IS_MISSING = /the last (\d+) spans and log records that were stored .* are missing/

const logOf = ({ database }: CausewaySettings): string => `${database}-wal`
const marked = ({ database }: CausewaySettings): unknown =>
  existsSync(`${database}-mark`)
    ? (JSON.parse(readFileSync(`${database}-mark`, 'utf8')) as unknown)
    : undefined

async function sendSpans({ ports }: CausewaySettings, first: number, count: number): Promise<void> {
  const spans = Array.from({ length: count }, (_, at) => ({ trace: first + at, id: 1 }))
  const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-protobuf' },
    body: new Uint8Array(spansRequest('a', spans)),
  })
  expect(answer.status).toBe(200)
}

/** Starts it, stores some spans, and ends it once that is marked; returns how many spans are said to be missing, if any. */
async function live(
  settings: CausewaySettings,
  signal: NodeJS.Signals,
  backup?: string,
): Promise<string | undefined> {
  await using causeway = await startCauseway(settings)
  const first = performance.now()
  await sendSpans(settings, Math.trunc(first) * 100, 30)
  const stored = storedProgress(settings).lastArrival
  await eventually(() => expect(marked(settings)).toMatchObject({ arrivals: stored }))
  if (backup !== undefined) askStored(settings, (db) => db.prepare('VACUUM INTO ?').run(backup))
  if (backup !== undefined) await sendSpans(settings, Math.trunc(first) * 100 + 50, 10)
  await eventually(() => expect(marked(settings)).toMatchObject({ arrivals: stored + (backup ? 10 : 0) }))
  await causeway.end(signal)
  return IS_MISSING.exec(causeway.errors)?.[1]
}

function removeLog(settings: CausewaySettings): void {
  for (const file of [logOf(settings), `${settings.database}-shm`]) rmSync(file, { force: true })
}

test('a write-ahead log that was removed after a kill is warned of', async () => {
  const settings = await freshSettings()
  await live(settings, 'SIGTERM')
  await live(settings, 'SIGKILL')
  removeLog(settings)
  expect(await live(settings, 'SIGTERM')).toBe('30')
  expect([existsSync(logOf(settings)), marked(settings)]).toEqual([false, undefined])
})

test('nothing is said of a log that is there or was moved into the database, nor of a backup', async () => {
  const settings = await freshSettings()
  const backup = `${settings.database}.backup`
  expect(await live(settings, 'SIGKILL')).toBeUndefined()
  expect(existsSync(logOf(settings))).toBe(true)
  expect(await live(settings, 'SIGKILL')).toBeUndefined()
  // As a command does that works on the database.
  new Database(settings.database).exec('PRAGMA wal_checkpoint(TRUNCATE)').close()
  expect(existsSync(logOf(settings))).toBe(false)
  expect(await live(settings, 'SIGKILL', backup)).toBeUndefined()
  removeLog(settings)
  copyFileSync(backup, settings.database)
  expect(await live(settings, 'SIGTERM')).toBeUndefined()
})
