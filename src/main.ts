import { text } from 'node:stream/consumers'
import { runCauseway } from './app/run-causeway.ts'
import { runCli } from './cli/commands.ts'
import { readManifest } from './cli/run-command.ts'

let isServing = false

// Whoever reads the output of a command may stop reading, as head does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  if (!isServing) process.exit(0)
})

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
  run: (loaded, read, writeLog) => {
    isServing = true
    return runCauseway(loaded, read, readManifest().version, { writeLog })
  },
})
