import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { COMPONENTS } from '../../src/app/components.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { mistakesOf } from './load-text.ts'

const folder = new URL('./faulty/', import.meta.url)
const EXPECT = /^# expect: (.*)$/gm
const readFile = (path: string) => readFileSync(new URL(path, folder), 'utf8')

test.each(readdirSync(folder))('%s', (name) => {
  const expected = [...readFile(name).matchAll(EXPECT)].map(([, line]) => line)
  expect(expected).not.toEqual([])
  expect(mistakesOf(() => loadConfig({ sources: [name], sets: [], env: {}, readFile }, COMPONENTS))).toEqual(
    expected,
  )
})
