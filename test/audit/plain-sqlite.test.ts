import { expect, test } from '@jest/globals'
import { askShell } from './plain-sqlite.ts'

test('a shell that is not there is said, with what to install', () => {
  expect(() => askShell(':memory:', 'SELECT 1', 'no-such-sqlite3')).toThrow(
    'no no-such-sqlite3 shell is installed; install the package sqlite3',
  )
})
