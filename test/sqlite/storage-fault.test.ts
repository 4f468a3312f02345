import { expect, test } from '@jest/globals'
import { sqliteFaults, storageFault } from '../../src/store/sqlite/open-database.ts'
import { StorageHealth } from '../../src/store/storage-health.ts'
import { cpid, spansRequest } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const big = (id: number): Buffer =>
  spansRequest('controller', [{ trace: id, id, cpid: cpid(id), attributes: { payload: 'x'.repeat(50_000) } }])

test('a full disk loses nothing that was acknowledged, and what is sent again once there is room is stored', async () => {
  using writer = await TestWriter.open()
  expect(writer.ingest('traces', big(1)).kind).toBe('accepted')
  writer.fillDisk()
  const { outcomes, error } = writer.writer.ingest([{ signal: 'traces', bytes: big(2) }])
  expect(outcomes).toEqual([{ kind: 'failed', reason: expect.stringContaining('nothing was stored') }])
  expect(storageFault(error)).toEqual({
    kind: 'full',
    reason: expect.stringMatching(/the disk of the database is full.*goes on by itself/),
  })
  writer.link()
  writer.freeDisk()
  expect(writer.ingest('traces', big(2))).toMatchObject({ kind: 'accepted', stored: 1 })
  expect(writer.ingest('traces', big(2))).toMatchObject({ kind: 'accepted', stored: 0 })
  writer.link()
  expect(writer.rows('spans')).toBe(2)
})

test('what was rolled back is done again, though the counters could not be read anew then', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1) }])
  const { linkLag } = writer.writer
  expect(linkLag).toBeGreaterThan(0)
  // Hides the table of counters: they can be neither saved, so that linking is rolled back, nor read.
  writer.db.exec('CREATE TEMP TABLE progress (hidden)')
  expect(() => writer.writer.link(100)).toThrow(/no such column/)
  writer.db.exec('DROP TABLE temp.progress')
  expect(writer.writer.isLinkDue).toBe(true)
  writer.link()
  expect(writer.writer.linkLag).toBe(0)
  expect(writer.writer.gauges().waiting).toBe(1)
})

test('damage stays until the next start; what is no fault of the storage is only said', () => {
  const told: string[] = []
  let nowMs = 0
  const health = new StorageHealth(
    sqliteFaults,
    (fault) => told.push(fault?.kind ?? 'none'),
    () => nowMs,
  )
  expect(health.noteFailure(new Error('a bug'))).toBe('a bug')
  expect(told).toEqual([])
  const damage = Object.assign(new Error('database disk image is malformed'), {
    code: 'SQLITE_CORRUPT_INDEX',
  })
  expect(health.noteFailure(damage)).toMatch(/the database is damaged.*causeway salvage/)
  nowMs = 60_000
  health.noteSuccess()
  health.noteFailure(Object.assign(new Error('full'), { code: 'SQLITE_FULL' }))
  health.noteSuccess()
  expect(health.isDamaged).toBe(true)
  expect(told).toEqual(['damaged'])
})

test('a fault is over once writing works and nothing has failed for two seconds, and is told of once', () => {
  const told: string[] = []
  let nowMs = 0
  const health = new StorageHealth(
    sqliteFaults,
    (fault) => told.push(fault?.kind ?? 'none'),
    () => nowMs,
  )
  const full = Object.assign(new Error('full'), { code: 'SQLITE_FULL' })
  health.noteFailure(full)
  nowMs = 1_000
  health.noteFailure(full)
  nowMs = 2_999
  health.noteSuccess()
  expect(told).toEqual(['full'])
  nowMs = 3_000
  health.noteSuccess()
  expect(told).toEqual(['full', 'none'])
})

test.each([
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY_DBMOVED', 'readOnly'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR_WRITE', 'io'],
  ['SQLITE_CANTOPEN', 'io'],
  ['SQLITE_BUSY', 'locked'],
])('%s is %s', (code, kind) => {
  expect(storageFault(Object.assign(new Error('x'), { code }))?.kind).toBe(kind)
})
