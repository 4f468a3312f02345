import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import * as attributes from '../../src/model/attributes.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

test('docs/contract.md has every attribute that begins with cpid', () => {
  const contract = read('docs/contract.md')
  const own = Object.values(attributes).filter((name) => name.startsWith('cpid.'))
  expect(own.length).toBeGreaterThan(20)
  const isNamed = (name: string): boolean =>
    contract.includes(`\`${name}\``) ||
    (name.startsWith('cpid.cascade.') && contract.includes(`\`${name.slice('cpid.cascade'.length)}\``))
  expect(own.filter((name) => !isNamed(name))).toEqual([])
})

test('every rule that the code cites stands in docs/linking.md', () => {
  const rules = new Set([...read('docs/linking.md').matchAll(/^## (\d+)\. /gm)].map(([, number]) => number))
  const cited = ['src', 'lab', 'packages'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .flatMap((name) =>
        [...read(join(folder, name)).matchAll(/docs\/linking\.md, rules? (\d+)(?: to (\d+))?/g)].flatMap(
          ([, first, last = first]) => [first, last],
        ),
      ),
  )
  expect(cited.length).toBeGreaterThan(5)
  expect(cited.filter((number) => number === undefined || !rules.has(number))).toEqual([])
})
