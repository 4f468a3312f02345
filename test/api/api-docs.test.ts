import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { API_DOCS, renderApiDocs } from '../../scripts/gen-api-docs.ts'

test('docs/reference/api.md says what the routes say; npm run gen writes it', () => {
  expect(readFileSync(API_DOCS, 'utf8')).toBe(renderApiDocs())
})
