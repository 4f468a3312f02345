import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openForAudit, prepareSelect, sqlErrorSentence } from '../../../src/store/sqlite/audit-sql.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { TestWriter } from '../../support/test-writer.ts'
import { askEverything } from '../every-question.ts'
import { logRequests, traceRequests } from '../seed-requests.ts'
import type { Target } from '../target.ts'

async function filled(path?: string): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { logs: true } }, path)
  for (const request of traceRequests()) writer.ingest('traces', request)
  for (const request of logRequests()) writer.ingest('logs', request)
  writer.pass(20_000)
  return writer
}

let opened: Promise<TestWriter> | undefined
const TABLES = [
  'UPDATE spans SET raw = ?',
  'UPDATE logs SET raw = ?',
  'UPDATE scopes SET envelope = ?',
  'UPDATE resources SET envelope = ?',
  'UPDATE outbox SET extra = ? WHERE extra IS NOT NULL AND span IS NULL',
]

/** Bytes in the database are broken; questions about them are answered all the same. */
export const stored: Target = {
  name: 'stored-bytes',
  shape: 'protobuf',
  seeds: () => [...traceRequests(), ...logRequests()].flatMap(innermost),
  async run(input) {
    const { db } = await (opened ??= filled())
    const update = TABLES[(input.length + (input[0] ?? 0)) % TABLES.length]!
    db.exec('SAVEPOINT broken')
    try {
      db.prepare(update).run(input)
      askEverything(db)
    } finally {
      db.exec('ROLLBACK TO broken; RELEASE broken')
    }
  },
}

/** A resource group, and the first record in it. */
function innermost(request: Buffer): Buffer[] {
  return [request.subarray(2), request.subarray(request.length >> 1), request]
}

let audited: Promise<Sqlite> | undefined
async function openAudited(): Promise<Sqlite> {
  const path = join(mkdtempSync(join(tmpdir(), 'causeway-fuzz-')), 'causeway.db')
  const writer = await filled(path)
  writer[Symbol.dispose]()
  return openForAudit(path, () => undefined)
}

/** Only what reads is let through, and every refusal is a sentence. */
export const sql: Target = {
  name: 'sql',
  shape: 'text',
  words: [
    'SELECT ',
    'related(',
    "'",
    ';',
    '--',
    '/*',
    ' FROM ',
    'PRAGMA ',
    'ATTACH ',
    'DELETE FROM cpids',
    'RETURNING *',
    "x'00'",
    '\0',
  ],
  seeds: () =>
    [
      'SELECT * FROM audit_cascades LIMIT 3',
      "WITH a AS (SELECT cpid FROM related('00000000-0000-4000-8000-000000000001')) SELECT count(*) FROM a",
      'EXPLAIN QUERY PLAN SELECT 1; -- end',
      '/* x */ VALUES (1, 2)',
    ].map((text) => Buffer.from(text)),
  async run(input) {
    const db = await (audited ??= openAudited())
    try {
      prepareSelect(db, input.toString()).iterate().next()
    } catch (error) {
      // Errors of the driver may come from another realm than the test's, so they are known by what they say.
      if (sqlErrorSentence(error) === '' || error instanceof TypeError) throw error
    }
  },
}
