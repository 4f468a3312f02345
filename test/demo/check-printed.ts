// check-printed.ts <file>: fails, with the whole of it, when a file is not what a demo prints. `.ci` asks it.
import { readFileSync } from 'node:fs'
import { demoFaults } from './demo-faults.ts'

const [path = ''] = process.argv.slice(2)
const printed = readFileSync(path, 'utf8')
const faults = demoFaults(printed)
if (faults.length === 0) console.log('the demo showed the settled cascade of all six services')
else {
  console.error(`${printed}\nthe demo printed that, but:\n  ${faults.join('\n  ')}`)
  process.exitCode = 1
}
