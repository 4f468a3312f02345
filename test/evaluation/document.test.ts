import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from '@jest/globals'
import { renderFiles, renderReadme } from '../../lab/evaluation/document/render-files.ts'
import { readData } from '../../lab/evaluation/evaluation-data.ts'
import { PARTS } from '../../lab/evaluation/options.ts'

const REPORTS = fileURLToPath(new URL('../../docs/reports', import.meta.url))

test('there are data of every part', () => {
  expect(Object.keys(readData(REPORTS)).sort()).toEqual([...PARTS].sort())
})

test('the document and its plots are what the data give; npm run evaluate writes them', async () => {
  const files = await renderFiles(REPORTS, readData(REPORTS))
  expect([...files.keys()]).toContain(join(REPORTS, 'evaluation.md'))
  for (const [path, text] of files) expect({ path, text: readFileSync(path, 'utf8') }).toEqual({ path, text })
})

test('the README has the outcome that the data give', async () => {
  const { path, text } = await renderReadme(REPORTS, readData(REPORTS))
  expect(readFileSync(path, 'utf8')).toBe(text)
})

test('every picture of the document is there', async () => {
  const files = await renderFiles(REPORTS, readData(REPORTS))
  const document = files.get(join(REPORTS, 'evaluation.md'))!
  const pictures = [...document.matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(([, path]) => join(REPORTS, path!))
  expect(pictures.length).toBeGreaterThan(0)
  for (const picture of pictures) expect([...files.keys()]).toContain(picture)
})
