import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { gzipSync } from 'node:zlib'
import { AuditLog, auditLine, Followed } from './support/audit-log.ts'

let log: AuditLog
let followed: Followed
beforeEach(() => {
  log = new AuditLog()
  followed = new Followed(log.path)
})
afterEach(async () => {
  await followed.restart()
  log[Symbol.dispose]()
})

test('what is written is told, and half a line waits for its end', async () => {
  const line = auditLine('b')
  log.append(auditLine('a') + line.slice(0, 100))
  await followed.readAll()
  expect(followed.ids).toEqual(['a'])
  log.append(line.slice(100, 200))
  await followed.readAll()
  expect([followed.ids, followed.behind, followed.unreadable]).toEqual([['a'], 200, 0])
  log.append(line.slice(200))
  await followed.readAll()
  expect([followed.ids, followed.behind]).toEqual([['a', 'b'], 0])
})

test('a line that is none is passed over and counted; no other is lost for it', async () => {
  log.append(`${auditLine('a')}{"broken\n[]\n\n${auditLine('b')}`)
  await followed.readAll()
  expect([followed.ids, followed.unreadable]).toEqual([['a', 'b'], 2])
})

test('a line that is too long is passed over, in parts', async () => {
  log.append(auditLine('a') + auditLine('long', { filler: 'x'.repeat(20_000) }).slice(0, 15_000))
  await followed.readAll()
  log.append(`${'x'.repeat(9_000)}"}\n${auditLine('b')}`)
  await followed.readAll()
  expect([followed.ids, followed.unreadable]).toEqual([['a', 'b'], 1])
})

test('a line longer than what is read at a time is read', async () => {
  log.append(auditLine('wide', { filler: 'x'.repeat(3_000) }))
  await followed.readAll()
  expect(followed.ids).toEqual(['wide'])
})

test('however long the log is, a bounded part is read at a time', async () => {
  for (let at = 0; at < 100; at++) log.append(auditLine(`e${at}`))
  await followed.look()
  const lengths: number[] = []
  while (await followed.look()) lengths.push(followed.told.at(-1)?.observations.length ?? 0)
  expect(Math.max(...lengths)).toBeLessThan(5)
  expect(followed.ids).toEqual(Array.from({ length: 100 }, (_, at) => `e${at}`))
})

test('a log that was never read is read from its end on, unless the beginning is asked for', async () => {
  followed = new Followed(log.path, { startAt: 'end' })
  const half = auditLine('b')
  log.append(auditLine('a') + half.slice(0, 50))
  await followed.readAll()
  log.append(half.slice(50))
  await followed.readAll()
  expect(followed.ids).toEqual(['b'])
})

test('a log that comes to be later is read from its beginning, and until then it is asked for', async () => {
  followed = new Followed(log.path, { startAt: 'end' })
  await followed.readAll()
  expect(followed.troubles).toEqual([
    `there is no file ${log.path}; is it where the API server writes its audit log?`,
  ])
  log.append(auditLine('a'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a'])
})

test('where it begins is kept, so that what came before a restart is not missed', async () => {
  followed = new Followed(log.path, { startAt: 'end' })
  log.append(auditLine('a'))
  await followed.readAll()
  await followed.restart()
  log.append(auditLine('b'))
  await followed.readAll()
  expect(followed.ids).toEqual(['b'])
})

test('what was compressed before is not read again', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  log.rename()
  await followed.readAll()
  const rotated = `${log.directory}/audit-0001.log`
  writeFileSync(`${rotated}.gz`, gzipSync(readFileSync(rotated)))
  rmSync(rotated)
  await followed.restart()
  log.append(auditLine('b'))
  await followed.readAll()
  expect([followed.ids, followed.troubles]).toEqual([['a', 'b'], []])
})

test('a file that is gone before it was read whole is told of, and the log goes on', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  await followed.restart()
  log.append(auditLine('lost'))
  log.rename()
  rmSync(`${log.directory}/audit-0001.log`)
  log.append(auditLine('b'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b'])
  expect(followed.troubles).toEqual([expect.stringContaining('is gone')])
})

test('a log that was truncated without a copy is read from its beginning, and that is told', async () => {
  log.append(auditLine('a') + auditLine('b'))
  await followed.readAll()
  log.truncate()
  log.append(auditLine('c'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b', 'c'])
  expect(followed.troubles).toEqual([expect.stringContaining('was truncated')])
})

test('a log that was truncated and has grown beyond where it was read is noticed by how it begins', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  log.truncate()
  log.append(auditLine('b') + auditLine('c') + auditLine('d'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b', 'c', 'd'])
})

test('what cannot be stored is read again after a restart', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  followed.isStopped = true
  log.append(auditLine('b'))
  log.rename()
  expect(await followed.look()).toBe(false)
  expect(await followed.look()).toBe(false)
  await followed.restart()
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b'])
})

test('times of other zones are the same times', async () => {
  log.append(auditLine('a', { stageTimestamp: '2026-11-22T08:30:38.214417+05:30' }))
  log.append(auditLine('b', { stageTimestamp: '2026-11-22T03:00:38.214417Z' }))
  await followed.readAll()
  const ends = followed.told.flatMap(({ observations }) => observations.map(({ seenNs }) => seenNs))
  expect(ends).toEqual([1795316438214417000n, 1795316438214417000n])
})

test('of a log of many gigabytes only what is new is read', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  // A hole takes no room on the disk.
  truncateSync(log.path, 10 * 1024 ** 3)
  const { inode, print } = JSON.parse(followed.position ?? '') as { inode: string; print: object }
  followed.position = JSON.stringify({ inode, offset: 10 * 1024 ** 3, print })
  await followed.restart()
  log.append(auditLine('b'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b'])
})

test('a folder is refused, and may become a file', async () => {
  mkdirSync(log.path)
  await expect(followed.look()).rejects.toThrow('is no file but')
  rmSync(log.path, { recursive: true })
  log.append(auditLine('first'))
  await followed.readAll()
  expect(followed.ids).toEqual(['first'])
})

test('what was written before a log was copied and truncated is read from the copy, also while it is followed', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  log.append(auditLine('b'))
  log.copyAndTruncate()
  log.append(auditLine('c'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b', 'c'])
})

test('what was written into a log just before it was renamed is read, and of several files each', async () => {
  log.append(auditLine('a'))
  await followed.readAll()
  for (const id of ['b', 'c', 'd']) {
    log.append(auditLine(id))
    log.rename()
  }
  log.append(auditLine('e'))
  await followed.readAll()
  expect(followed.ids).toEqual(['a', 'b', 'c', 'd', 'e'])
})
