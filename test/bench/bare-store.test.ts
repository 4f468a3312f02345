import { expect, test } from '@jest/globals'
import { BareRows } from '../../lab/bench/fill/bare-rows.ts'
import { BareStore } from '../../lab/bench/fill/bare-store.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../src/store/sqlite/open-database.ts'
import { TestWriter } from '../support/test-writer.ts'

/** What ingest writes: every column of it but the numbers of arrivals, which the real writer also gives to changes. */
const WRITTEN = {
  spans:
    'SELECT cpid, origin, span_id, parent_id, start_ns, end_ns, scope, kind, status, flags, name, raw FROM spans ORDER BY id',
  traces: 'SELECT id, trace_id FROM origin_traces ORDER BY id',
  pairs: 'SELECT cpid, origin FROM cpid_origins ORDER BY cpid, origin',
  requests: 'SELECT hash, rejected, message FROM requests ORDER BY id',
}

function contents(db: Sqlite): Record<string, unknown[]> {
  return Object.fromEntries(
    Object.entries(WRITTEN).map(([name, sql]) => [name, db.prepare(sql).safeIntegers().all()]),
  )
}

test('the bare store writes what Causeway writes of the same requests', async () => {
  const rows = new BareRows()
  const requests = [rows.next(1_790_000_000_000), rows.next(1_790_000_000_100)]
  const bare = openForWriting(':memory:')
  await migrate(bare)
  new BareStore(bare).commit(requests)
  const real = await TestWriter.open()
  for (const { body } of requests) expect(real.ingest('traces', body)).toMatchObject({ rejected: 0 })

  const expected = contents(real.db)
  expect(expected['spans']).toHaveLength(2 * 512)
  expect(contents(bare)).toEqual(expected)
})
