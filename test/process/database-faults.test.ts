import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from '@jest/globals'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { CONFIG_FILE, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../src/store/sqlite/open-database.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

leaveNothingBehind()

interface Fault {
  what: string
  /** Puts something where the database is to be. */
  prepare: (path: string) => Promise<void>
  says: RegExp
}

const FAULTS: Fault[] = [
  {
    what: 'a path where no file can be made',
    prepare: async (path) => writeFileSync(dirname(path), 'a file where the folder should be'),
    says: /connectors::cpid::storage::path.*another path/,
  },
  {
    what: 'a folder instead of a file',
    prepare: async (path) => void mkdirSync(path, { recursive: true }),
    says: /connectors::cpid::storage::path\): it is a folder; name a file in it$/,
  },
  {
    what: 'a file that is no database',
    prepare: async (path) => {
      mkdirSync(dirname(path))
      writeFileSync(path, 'a shopping list, and long enough to hold the header of a database: '.repeat(100))
    },
    says: /connectors::cpid::storage::path.*not a database.*another path/,
  },
  {
    what: 'a database of a newer Causeway',
    prepare: async (path) => {
      const db = openForWriting(path)
      await migrate(db)
      db.prepare('INSERT INTO kysely_migration (name, timestamp) VALUES (?, ?)').run(
        '999-of-tomorrow',
        '2999-01-01',
      )
      db.close()
    },
    says: /newer Causeway \(it has 999-of-tomorrow\).*connectors::cpid::storage::path/,
  },
]

test.each(FAULTS)(
  'given $what it says so in one line, changes nothing and ends',
  async ({ prepare, says }) => {
    const settings = await freshSettings()
    await prepare(settings.database)
    const before = contentsBelow(settings.home)
    await using causeway = new CausewayProcess(settings)
    const ending = await causeway.ending()
    expect(ending.code).toBeGreaterThan(0)
    expect(causeway.complaints).toEqual([expect.stringMatching(says)])
    expect(contentsBelow(settings.home)).toEqual(before)
  },
)

/** Everything below a folder: what is in each file as a hash. */
function contentsBelow(folder: string): Record<string, string> {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true })
  const entries = found
    .filter((entry) => entry.name !== CONFIG_FILE)
    .map((entry) => {
      const path = `${entry.parentPath}/${entry.name}`
      const content = entry.isFile()
        ? createHash('sha256').update(readFileSync(path)).digest('hex')
        : 'folder'
      return [path.slice(folder.length + 1), content] as const
    })
  return Object.fromEntries(entries)
}
