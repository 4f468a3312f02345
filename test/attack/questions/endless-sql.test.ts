import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from '@jest/globals'
import { BIN } from '../../../lab/harness/causeway/causeway-process.ts'
import { argumentsFor, freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'

const ENDLESS = 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x'

test('a query without end is ended after ten seconds, unless --timeout says otherwise', async () => {
  const settings = await freshSettings()
  const db = openForWriting(settings.database)
  await migrate(db)
  db.close()
  const asked = promisify(execFile)(process.execPath, [BIN, 'sql', ENDLESS, ...argumentsFor(settings)])
  await expect(asked).rejects.toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      'Error: the query took longer than 10 s and was ended; narrow it, for instance with LIMIT or WHERE, or raise --timeout\n',
  })
})
