import { runPlugin } from './plugin-command.ts'
import { plainText } from './plugin-text.ts'

try {
  await runPlugin({
    args: process.argv.slice(2),
    env: process.env,
    nowMs: Date.now(),
    print: (text) => process.stdout.write(text),
  })
} catch (error) {
  process.stderr.write(`error: ${plainText(error instanceof Error ? error.message : String(error))}\n`)
  process.exitCode = 1
}
