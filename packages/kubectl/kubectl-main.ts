import { text } from 'node:stream/consumers'
import { KUBECTL, runCommandOf } from './kubectl-command.ts'
import { UsageError } from '../../src/cli/command-line.ts'
import { runCommand } from '../../src/cli/run-command.ts'

/** Errors of stderr are ignored, so that a closed pipe does not end the command. */
const stderr = (): NodeJS.WriteStream =>
  process.stderr.listenerCount('error') > 0 ? process.stderr : process.stderr.on('error', () => undefined)

const runsNoServer = new UsageError('write the command behind --: causeway run -- <command>')

// The command line with these commands alone, which start at once.
void runCommand(
  process.argv.slice(2),
  {
    // Opened on use, which is rare: the output is kubectl's own.
    get stdout() {
      return process.stdout
    },
    get stderr() {
      return stderr()
    },
    readInput: () => text(process.stdin),
    terminalWidth: undefined,
    env: process.env,
    run: () => Promise.reject(runsNoServer),
  },
  new Map([
    ['kubectl', KUBECTL],
    ['run', runCommandOf(() => Promise.reject(runsNoServer))],
  ]),
).then((exitCode) => {
  // Exits without waiting for the cleanup of the process.
  if (process.platform === 'win32') process.exitCode = exitCode
  else process.exit(exitCode)
})
