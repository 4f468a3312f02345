// summary.js <folder>: adds up jest's JSON results there, says what was not run and why (*.not-run, a line each), and closes
// with one plain line.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const files = readdirSync(folder).sort()
const readAll = (ending) =>
  files.filter((file) => file.endsWith(ending)).map((file) => readFileSync(join(folder, file), 'utf8'))

let passed = 0
let failed = 0
for (const results of readAll('.json').map((text) => JSON.parse(text))) {
  passed += results.numPassedTests
  failed += results.numFailedTests + results.numRuntimeErrorTestSuites
}
const notRun = readAll('.not-run').map((text) => text.trim())
if (notRun.length > 0) console.log(`NOT RUN, so neither passed nor failed: ${notRun.join('; ')}`)
console.log(`Tests: ${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
