import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { INFERENCE_DOCS, renderInferenceDocs } from '../../scripts/gen-inference-docs.ts'

test('docs/reference/inference.md has the table of relations; npm run gen writes it', () => {
  expect(readFileSync(INFERENCE_DOCS, 'utf8')).toBe(renderInferenceDocs())
})
