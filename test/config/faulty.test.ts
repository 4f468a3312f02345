import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { mistakesIn } from './load-text.ts'

const folder = new URL('./faulty/', import.meta.url)
const EXPECT = /^# expect: (.*)$/gm

test.each(readdirSync(folder))('%s', (name) => {
  const text = readFileSync(new URL(name, folder), 'utf8')
  const expected = [...text.matchAll(EXPECT)].map(([, line]) => line)
  expect(expected).not.toEqual([])
  expect(mistakesIn(text)).toEqual(expected)
})
