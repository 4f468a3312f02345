import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'

const SRC = fileURLToPath(new URL('../../../src', import.meta.url))
const FOLDERS = ['query/archive', 'exporter/clickhouse']

/** Subqueries in conditions and joins, without a word before them that sends their result to all shards. */
const OF_ONE_SHARD =
  /(?<!GLOBAL )(?<!GLOBAL NOT )\b(?:NOT )?IN \(SELECT|(?<!GLOBAL )(?:(?:INNER|LEFT|ANY|SEMI|ANTI) )+JOIN \(/g

// ClickHouse refuses them where both tables are distributed (distributed_product_mode), which no test with one server shows.
test('every subquery of the archive is GLOBAL', () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(SRC, folder)).map((name) => join(SRC, folder, name)),
  )
  const found = files.map((file) => [file, readFileSync(file, 'utf8')] as const)
  expect(found.filter(([, text]) => /GLOBAL (?:NOT )?IN \(SELECT/.test(text)).length).toBeGreaterThan(3)
  expect(
    found.flatMap(([file, text]) => [...text.matchAll(OF_ONE_SHARD)].map(([part]) => `${file}: ${part}`)),
  ).toEqual([])
})
