import { text } from 'node:stream/consumers'
import { KUBECTL } from './commands/kubectl-command.ts'
import { runCommand } from './run-command.ts'

// The command line with one command alone, which starts at once.
process.exitCode = await runCommand(
  process.argv.slice(2),
  {
    stdout: process.stdout,
    stderr: process.stderr,
    readInput: () => text(process.stdin),
    terminalWidth: undefined,
    env: process.env,
    run: () => Promise.reject(new Error('kubectl runs no Causeway')),
  },
  new Map([['kubectl', KUBECTL]]),
)
