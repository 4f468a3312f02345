import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { parse } from 'yaml'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { errorOf, mistakesOf } from './load-text.ts'

const folder = new URL('./faulty/', import.meta.url)
const EXPECT = /^# expect: (.*)$/gm
const readFile = (path: string) => readFileSync(new URL(path, folder), 'utf8')

const load = (name: string) => () => loadConfig({ sources: [name], sets: [], env: {}, readFile }, COMPONENTS)

test.each(readdirSync(folder))('%s', (name) => {
  const expected = [...readFile(name).matchAll(EXPECT)].map(([, line]) => line)
  expect(expected).not.toEqual([])
  expect(mistakesOf(load(name))).toEqual(expected)
})

// Broken YAML says its line itself.
test.each(readdirSync(folder).filter((name) => !name.startsWith('yaml-')))(
  'every mistake of %s says on which line its key, or the nearest around it, is',
  (name) => {
    const text = readFile(name)
    const tree: unknown = parse(text)
    for (const { path, key, place } of errorOf(load(name))) {
      const keys = [...path.split('::'), ...(key === undefined ? [] : [key])].filter((one) => one !== '')
      const written = keys.findLast((_, at) => has(tree, keys.slice(0, at + 1)))
      const [, line] = new RegExp(`^${name}: line (\\d+)$`).exec(place ?? '') ?? []
      if (written === undefined) expect(place).toBeUndefined()
      else expect(text.split('\n')[Number(line) - 1]).toContain(/^\d+$/.test(written) ? '{' : written)
    }
  },
)

function has(tree: unknown, [key, ...inner]: readonly string[]): boolean {
  if (key === undefined) return true
  if (typeof tree !== 'object' || tree === null || !Object.hasOwn(tree, key)) return false
  return has(Object.entries(tree).find(([name]) => name === key)?.[1], inner)
}
