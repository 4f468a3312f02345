import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { loadText } from '../config/load-text.ts'

const text = readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8')
const examples = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = '']) => yaml)

test('the document shows configurations', () => {
  expect(examples).toHaveLength(2)
})

test.each(examples)('a configuration of docs/security.md is right and leaves nothing open', (yaml) => {
  expect(loadText(yaml).warnings).toEqual([])
})

test('every reason for which a sender is refused is explained', () => {
  for (const reason of ['sender_not_allowed', 'foreign_source', 'repeated_attribute'])
    expect(text).toContain(`| \`${reason}\``)
})
