import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { optionsGiven } from '../../lab/harness/command-options.ts'
import { Coverage } from './coverage.ts'
import { fuzz } from './fuzz-target.ts'
import { readFuzzOptions, USAGE, type FuzzOptions } from './options.ts'

/** How many inputs failed. */
async function fuzzAll({ targets, seconds, seed }: FuzzOptions): Promise<number> {
  let failed = 0
  for (const target of targets) {
    using coverage = new Coverage((url) => url.includes('/src/') && !url.includes('/node_modules/'))
    const untilMs = performance.now() + (seconds / targets.length) * 1000
    const goesOn = (): boolean => performance.now() < untilMs
    const { executions, kept, failures } = await fuzz(target, { seed, goesOn, coverage })
    console.log(
      `${target.name}: ${executions} executions, ${coverage.size} blocks, ${kept} inputs kept, ${failures.length} failures`,
    )
    for (const failure of failures) {
      const folder = join(import.meta.dirname, 'corpus', target.name)
      mkdirSync(folder, { recursive: true })
      const file = join(folder, hash('sha256', failure.input).slice(0, 12))
      writeFileSync(file, failure.input)
      console.error(`${file}\n${failure.message}\n`)
    }
    failed += failures.length
  }
  return failed
}

const options = optionsGiven(USAGE, readFuzzOptions)
if (options?.list) console.log(options.targets.map(({ name }) => name).join('\n'))
else if (options !== undefined) process.exitCode = (await fuzzAll(options)) === 0 ? 0 : 1
