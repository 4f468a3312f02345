import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { MAY_IMPORT, PACKAGE_MAY_IMPORT } from '../../scripts/may-import.ts'

const ROOT = new URL('../../', import.meta.url)
const SRC = fileURLToPath(new URL('src/', ROOT))
/** The composition root, which may import everything. */
const ALL = 'app'

const rules = new Map(Object.entries(MAY_IMPORT))
const sorted = (names: Iterable<string>): string[] => [...names].sort()

/** The innermost folder of src with a rule that a file is in. */
function ruledFolder(file: string): string | undefined {
  const around = [...rules.keys(), ALL].filter((folder) => file.startsWith(`${folder}/`))
  return around.sort((a, b) => b.length - a.length)[0]
}

/** The folders of src that the files of a folder import, without those in folders inside it that have a rule of their own. */
function importedBy(folder: string): Set<string> {
  const found = new Set<string>()
  const own = ruledFolder(`${relative(SRC, folder)}/`)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || ruledFolder(relative(SRC, join(folder, name))) !== own) continue
    const file = join(folder, name)
    for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/(?: from |import\()'(\.[^']+)'/g)) {
      const other = ruledFolder(relative(SRC, join(file, '..', from)))
      if (other !== undefined) found.add(other)
    }
  }
  return found
}

test('ARCHITECTURE.md says of every folder of src what lint lets it import', () => {
  const text = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8')
  const rows = new Map(
    [...text.matchAll(/^\| `((?!packages\/)[a-z/]+)` +\| [^|]+ \| ([^|]+) \|$/gm)].map(
      ([, folder = '', may = '']) => [folder, may.trim()],
    ),
  )
  expect(sorted(rows.keys())).toEqual(sorted([...rules.keys(), ALL]))
  const outermost = new Set([...rows.keys()].map((folder) => folder.split('/')[0] ?? ''))
  expect(sorted(outermost)).toEqual(sorted(readdirSync(SRC).filter((name) => name !== 'main.ts')))
  expect(rows.get(ALL)).toBe('everything')
  rows.delete(ALL)
  for (const [folder, may] of rows) {
    const named = may === 'nothing' ? [] : may.split(', ')
    expect([folder, sorted(named)]).toEqual([folder, sorted(rules.get(folder) ?? ['no rule'])])
  }
})

test.each([...rules])('%s imports each of the folders that it may, and no other', (folder, may) => {
  expect(sorted(importedBy(`${SRC}${folder}`)).filter((other) => other !== folder)).toEqual(sorted(may))
})

test('ARCHITECTURE.md says of every package that may import of src which folders it may', () => {
  const text = readFileSync(new URL('ARCHITECTURE.md', ROOT), 'utf8')
  const rows = [...text.matchAll(/^\| `packages\/([a-z-]+)` +\| [^|]+ \| ([^|]+) \|$/gm)]
  expect(Object.fromEntries(rows.map(([, name = '', may = '']) => [name, may.trim().split(', ')]))).toEqual(
    Object.fromEntries(Object.entries(PACKAGE_MAY_IMPORT).filter(([, may]) => may.length > 0)),
  )
  expect(sorted(Object.keys(PACKAGE_MAY_IMPORT))).toEqual(sorted(readdirSync(new URL('packages/', ROOT))))
})

test.each(Object.entries(PACKAGE_MAY_IMPORT))(
  'packages/%s imports of src each of the folders that it may, and no other',
  (name, may) => {
    expect(sorted(importedBy(fileURLToPath(new URL(`packages/${name}/`, ROOT))))).toEqual(sorted(may))
  },
)

test('SQL, pragmas and the libraries of SQLite stand in src/store/sqlite alone, and no pure core imports that', () => {
  const IS_SQLITE =
    /from '(better-sqlite3|node:sqlite|kysely)|\.(prepare|pragma)\(|\.exec\(\s*['"`]|\bpragma_[a-z]+\b/
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const using = files.filter((name) => IS_SQLITE.test(readFileSync(`${SRC}${name}`, 'utf8')))
  expect(using.length).toBeGreaterThan(10)
  expect(using.filter((name) => !name.startsWith('store/sqlite/'))).toEqual([])
  const cores = [
    'model',
    'model/otlp',
    'graph',
    'linker',
    'query',
    'query/http',
    'kube/inference',
    'receiver',
  ]
  expect(cores.filter((folder) => rules.get(folder)?.includes('store/sqlite'))).toEqual([])
})
