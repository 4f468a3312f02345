import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { holdDatabase, isDatabaseLocked, openForWriting } from '../../src/store/sqlite/open-database.ts'

test('a database that is begun through links has the lock that every other path to it has', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-linked-'))
  try {
    mkdirSync(join(folder, 'volume'))
    const [database, link, linkOfLink] = ['volume/real.db', 'link.db', 'other.db'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    symlinkSync('volume/real.db', link)
    symlinkSync('link.db', linkOfLink)
    using held = holdDatabase(linkOfLink)
    expect(held).toBeDefined()
    writeFileSync(database, '')
    for (const path of [database, link, linkOfLink]) expect(isDatabaseLocked(path)).toBe(true)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('links that lead round in a circle lead nowhere', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-linked-'))
  try {
    symlinkSync('b.db', join(folder, 'a.db'))
    symlinkSync('a.db', join(folder, 'b.db'))
    expect(isDatabaseLocked(join(folder, 'a.db'))).toBe(false)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a database with two names is not written, under neither: each would have a write-ahead log of its own', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-linked-'))
  try {
    mkdirSync(join(folder, 'other'))
    const [database, other] = [join(folder, 'a.db'), join(folder, 'other', 'b.db')]
    const db = openForWriting(database)
    db.exec('CREATE TABLE stored (at)')
    linkSync(database, other)
    for (const path of [database, other])
      expect(() => openForWriting(path)).toThrow('has 2 names (hard links)')
    db.exec('INSERT INTO stored VALUES (1)')
    db.close()
    unlinkSync(other)
    const again = openForWriting(database)
    expect(again.prepare('SELECT count(*) FROM stored').pluck().get()).toBe(1)
    again.close()
  } finally {
    rmSync(folder, { recursive: true })
  }
})
