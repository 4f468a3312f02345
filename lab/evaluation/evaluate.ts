// Measures what the paper's evaluation measures and writes docs/reports/evaluation.md, its data and its plots.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeMachine } from '../bench/measure/machine.ts'
import { optionsGiven } from '../harness/command-options.ts'
import { formatted } from '../charts/formatted.ts'
import { renderFiles, renderReadme } from './document/render-files.ts'
import { summaryText } from './document/summary.ts'
import { pathOf, readData, type DataOfParts } from './evaluation-data.ts'
import { measureDurations } from './durations/measure.ts'
import { measureInference } from './inference/measure.ts'
import { measureInformers } from './informers/measure.ts'
import { measureMerges } from './merges/measure.ts'
import { measureOperator } from './operator/measure.ts'
import { readOptions, USAGE, type Options, type Part } from './options.ts'
import { measureOverhead } from './overhead/measure.ts'
import { measureReplacement } from './replacement/measure.ts'
import { measureTraceability } from './traceability-data.ts'

const REPORTS = fileURLToPath(new URL('../../docs/reports', import.meta.url))

const MEASURE: { [P in Part]: (options: Options, onStep: () => void) => Promise<DataOfParts[P]> } = {
  durations: measureDurations,
  inference: measureInference,
  informers: measureInformers,
  merges: measureMerges,
  operator: measureOperator,
  overhead: measureOverhead,
  replacement: measureReplacement,
  traceability: (_, onRow) => measureTraceability(onRow),
}

async function evaluate(options: Options): Promise<void> {
  mkdirSync(join(options.out, 'evaluation'), { recursive: true })
  for (const part of options.parts) {
    process.stderr.write(`${part} `)
    const startedMs = performance.now()
    const data = await MEASURE[part](options, () => process.stderr.write('.'))
    const seconds = Math.round((performance.now() - startedMs) / 1000)
    process.stderr.write(` ${seconds} s\n`)
    const measured = { takenAt: new Date().toISOString(), seconds, machine: describeMachine(tmpdir()), data }
    const path = pathOf(options.out, part)
    writeFileSync(path, await formatted(path, JSON.stringify(measured)))
  }
  const data = readData(options.out)
  for (const [path, text] of await renderFiles(options.out, data)) writeFileSync(path, text)
  if (options.out === REPORTS) {
    const { path, text } = await renderReadme(REPORTS, data)
    writeFileSync(path, text)
  }
  console.log(`\n${summaryText(data)}\n\nThe document: ${join(options.out, 'evaluation.md')}`)
}

const options = optionsGiven(USAGE, (args) =>
  readOptions(args, { reports: REPORTS, scratch: () => mkdtempSync(join(tmpdir(), 'causeway-evaluation-')) }),
)
if (options !== undefined) {
  try {
    await evaluate(options)
  } catch (error) {
    console.error(
      `\nThe evaluation failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    )
    process.exitCode = 1
  }
}
