import { runPlugin } from './plugin-command.ts'

try {
  await runPlugin({
    args: process.argv.slice(2),
    env: process.env,
    nowMs: Date.now(),
    print: (text) => process.stdout.write(text),
  })
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
