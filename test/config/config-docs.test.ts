import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { renderConfigDocs } from '../../scripts/gen-config-docs.ts'

test('docs/config.md says what the schema says; npm run gen writes it', () => {
  expect(readFileSync(new URL('../../docs/config.md', import.meta.url), 'utf8')).toBe(renderConfigDocs())
})
