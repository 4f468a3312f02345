import { execFile, spawn, type ExecFileException } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { DEMO_DATABASE, type CausewaySettings } from './causeway-settings.ts'
import { eachErrorLine, seeOff } from './child.ts'

const BIN = fileURLToPath(new URL('../../../bin/causeway.js', import.meta.url))
const TETHER = new URL('./tether.ts', import.meta.url).href
const LONGEST_START_MS = 120_000
const LONGEST_DRAIN_MS = 12_000
const ASK_AGAIN_MS = 50
const KEPT_LINES = 20

/**
 * Starts Causeway with an empty database; resolves once it takes spans. Disposing of it lets it drain and ends it; when
 * it ends before that, `stop` is aborted with an Error that says so.
 */
export async function startCauseway(
  settings: CausewaySettings,
  stop: AbortController,
): Promise<AsyncDisposable> {
  if (settings.storagePath === DEMO_DATABASE) removeDatabase(settings.storagePath)
  // Nothing is ever written to its standard input; that it ends is how the tether knows.
  const child = spawn(process.execPath, ['--import', TETHER, BIN, ...settings.args], {
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  const lastLines: string[] = []
  eachErrorLine(child, (line) => {
    lastLines.push(line)
    if (lastLines.length > KEPT_LINES) lastLines.shift()
  })
  const onEnd = () => stop.abort(new Error(`Causeway ended by itself:\n${lastLines.join('\n')}`))
  child.once('close', onEnd)
  const end = async () => {
    child.off('close', onEnd)
    child.kill('SIGTERM')
    await seeOff(child, LONGEST_DRAIN_MS)
  }
  try {
    const deadline = performance.now() + LONGEST_START_MS
    while (!(await isReady(settings.health, stop.signal))) {
      if (performance.now() > deadline) {
        throw new Error(`Causeway is not ready after ${LONGEST_START_MS / 1000} s:\n${lastLines.join('\n')}`)
      }
      await sleep(ASK_AGAIN_MS, undefined, { signal: stop.signal })
    }
  } catch (error) {
    await end()
    throw error
  }
  return { [Symbol.asyncDispose]: end }
}

/** Runs one of Causeway's commands and gives back what it printed; rejects with what it complained about. */
export async function runCauseway(args: string[], stop: AbortSignal): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args], { signal: stop })
    return stdout
  } catch (cause) {
    const { stderr } = cause as ExecFileException
    throw new Error(`causeway ${args[0] ?? ''} failed: ${stderr?.trim() ?? String(cause)}`, { cause })
  }
}

async function isReady(health: string, stop: AbortSignal): Promise<boolean> {
  try {
    return (await fetch(`http://${health}`, { signal: stop })).ok
  } catch {
    return false
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
