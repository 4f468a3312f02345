import { text } from 'node:stream/consumers'
import { KUBECTL } from './kubectl-command.ts'
import { runCommand } from '../../src/cli/run-command.ts'

// The command line with one command alone, which starts at once.
void runCommand(
  process.argv.slice(2),
  {
    // Made when something is written, which is rare: what is printed is kubectl's.
    get stdout() {
      return process.stdout
    },
    get stderr() {
      return process.stderr
    },
    readInput: () => text(process.stdin),
    terminalWidth: undefined,
    env: process.env,
    run: () => Promise.reject(new Error('kubectl runs no Causeway')),
  },
  new Map([['kubectl', KUBECTL]]),
).then((exitCode) => {
  // All that is left is to take this program apart, and that need not be waited for.
  if (process.platform === 'win32') process.exitCode = exitCode
  else process.exit(exitCode)
})
