import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Coverage } from './coverage.ts'
import { fuzz } from './fuzz-target.ts'
import { TARGETS } from './targets.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    target: { type: 'string', multiple: true },
    list: { type: 'boolean', default: false },
  },
})
const names = TARGETS.map(({ name }) => name)
const unknown = values.target?.find((name) => !names.includes(name))
if (unknown !== undefined || values.list) {
  if (unknown !== undefined) console.error(`there is no target "${unknown}"; take one of these:`)
  console.log(names.join('\n'))
  process.exit(unknown === undefined ? 0 : 1)
}
const chosen = TARGETS.filter(({ name }) => values.target?.includes(name) ?? true)
const seconds = Number(values.seconds) / chosen.length
let failed = 0
for (const target of chosen) {
  using coverage = new Coverage((url) => url.includes('/src/') && !url.includes('/node_modules/'))
  const untilMs = performance.now() + seconds * 1000
  const goesOn = (): boolean => performance.now() < untilMs
  const { executions, kept, failures } = await fuzz(target, { seed: Number(values.seed), goesOn, coverage })
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
process.exitCode = failed === 0 ? 0 : 1
