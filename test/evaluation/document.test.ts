import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { renderFiles, renderReadme } from '../../lab/evaluation/document/render-files.ts'
import { readData } from '../../lab/evaluation/evaluation-data.ts'
import { PARTS } from '../../lab/evaluation/options.ts'

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url))

test('there are data of every part', () => {
  expect(Object.keys(readData(DOCS)).sort()).toEqual([...PARTS].sort())
})

test('the document and its plots are what the data give; npm run evaluate writes them', async () => {
  const files = await renderFiles(DOCS, readData(DOCS))
  expect([...files.keys()]).toContain(join(DOCS, 'evaluation.md'))
  for (const [path, text] of files) expect({ path, text: readFileSync(path, 'utf8') }).toEqual({ path, text })
})

test('the README has the outcome that the data give', async () => {
  const { path, text } = await renderReadme(DOCS, readData(DOCS))
  expect(readFileSync(path, 'utf8')).toBe(text)
})

test('every picture of the document is there', async () => {
  const files = await renderFiles(DOCS, readData(DOCS))
  const document = files.get(join(DOCS, 'evaluation.md'))!
  const pictures = [...document.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => join(DOCS, path!))
  expect(pictures.length).toBeGreaterThan(0)
  for (const picture of pictures) expect([...files.keys()]).toContain(picture)
})
