import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { preparesLate } from '../support/late-statements.ts'

const COUNT = 'SELECT n FROM counts WHERE n >= ? ORDER BY n'

test('a statement of tests that is prepared late answers as one that was prepared at once, in whatever form it is asked', () => {
  const filled = new Database(':memory:')
  filled.exec('CREATE TABLE counts (n INTEGER NOT NULL) STRICT; INSERT INTO counts VALUES (1), (2), (3)')
  const early = new Database(filled.serialize())
  const late = preparesLate(new Database(filled.serialize()))
  late.prepare(COUNT)
  late.prepare('DELETE FROM counts WHERE n = ?')

  const answers = [early, late].map((db) => [
    db.prepare(COUNT).all(2),
    db.prepare(COUNT).pluck().all(2),
    db.prepare(COUNT).raw().safeIntegers().get(2),
    db.prepare(COUNT).pluck().pluck(false).get(3),
    [...db.prepare(COUNT).pluck().iterate(1)],
    db.prepare(COUNT).bind(3).all(),
    db
      .prepare(COUNT)
      .columns()
      .map(({ name }) => name),
    db.prepare('DELETE FROM counts WHERE n = ?').run(2),
    db.prepare(COUNT).get(4),
  ])

  expect(answers[1]).toEqual(answers[0])
  expect(answers[0]?.[1]).toEqual([2, 3])
})

test('a text that SQLite does not take is refused where it is prepared', () => {
  const db = preparesLate(new Database(':memory:'))

  expect(() => db.prepare('SELECT n FROM absent')).toThrow('no such table: absent')
  expect(() => db.prepare('SELECT n FROM absent')).toThrow('no such table: absent')
})
