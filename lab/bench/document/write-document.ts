// Takes over what runs of the bench left, and writes docs/reports/benchmarks.md, its data and its plots: npm run bench:document.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { reasonOf } from '../../harness/command-options.ts'
import { formatted } from '../../charts/formatted.ts'
import { filesOfRun, readBenchmarks, type RunResult } from './benchmark-data.ts'
import { renderFiles } from './render-files.ts'

const REPORTS = fileURLToPath(new URL('../../../docs/reports', import.meta.url))
const USAGE = `npm run bench:document -- [options] [result.json ...]
  Keeps each section of these results in benchmarks/, in place of the same section there, and writes benchmarks.md.
  Without results it writes the document anew from what is kept.
  --out <folder>   where benchmarks.md and benchmarks/ are (docs/reports)`

async function writeDocument(reports: string, results: readonly string[]): Promise<void> {
  mkdirSync(join(reports, 'benchmarks'), { recursive: true })
  for (const result of results) {
    const run = JSON.parse(readFileSync(result, 'utf8')) as RunResult
    for (const [path, kept] of filesOfRun(reports, run))
      writeFileSync(path, await formatted(path, JSON.stringify(kept)))
  }
  for (const [path, text] of await renderFiles(reports, readBenchmarks(reports))) writeFileSync(path, text)
  console.log(`The document: ${join(reports, 'benchmarks.md')}`)
}

try {
  const { values, positionals } = parseArgs({
    options: { out: { type: 'string', default: REPORTS }, help: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  if (values.help) console.log(USAGE)
  else await writeDocument(values.out, positionals)
} catch (error) {
  console.error(`No document: ${reasonOf(error)}\n\n${USAGE}`)
  process.exitCode = 1
}
