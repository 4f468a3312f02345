import { text } from 'node:stream/consumers'
import { runCauseway } from '../app/run-causeway.ts'
import { runCli } from './commands.ts'
import { readManifest } from './run-command.ts'

let isServing = false

// The reader of a command's output may close it early, as `head` does. That never ends a server.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (isServing) return
  if (error.code === 'EPIPE') process.exit(0)
  process.stderr.write(`Error: cannot write the output: ${error.message}\n`)
  process.exit(1)
})
// Ignored: the disk of a log file may be full, or its reader may have ended.
process.stderr.on('error', () => undefined)

process.exitCode = await runCli(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  readInput: () => text(process.stdin),
  terminalWidth: process.stdout.isTTY ? process.stdout.columns : undefined,
  env: process.env,
  untilAsked: () => {
    const asked = new AbortController()
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => asked.abort())
    return asked.signal
  },
  endsAtHangUp: () => process.removeAllListeners('SIGHUP'),
  run: (loaded, read, writeLog) => {
    isServing = true
    return runCauseway(loaded, read, readManifest().version, { writeLog })
  },
})
