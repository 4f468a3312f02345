// Adds up jest's JSON results and closes with one plain line.
import { readFileSync } from 'node:fs'

let passed = 0
let failed = 0
for (const file of process.argv.slice(2)) {
  const results = JSON.parse(readFileSync(file, 'utf8'))
  passed += results.numPassedTests
  failed += results.numFailedTests + results.numRuntimeErrorTestSuites
}
console.log(`Tests: ${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
