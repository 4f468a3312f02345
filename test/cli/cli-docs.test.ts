import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { CLI_DOCS, renderCliDocs } from '../../scripts/gen-cli-docs.ts'

test('docs/reference/cli.md says what the help says; npm run gen writes it', () => {
  expect(readFileSync(CLI_DOCS, 'utf8')).toBe(renderCliDocs())
})
