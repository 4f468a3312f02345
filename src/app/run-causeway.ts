import { flushCompileCache } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CausewayConfig } from '../config/causeway-config.ts'
import { errorText } from '../model/faults.ts'
import { createLogger, type Logger } from '../platform/logger.ts'
import { surviveDescriptorExhaustion } from '../platform/open-files.ts'
import { systemClock } from '../platform/system-clock.ts'
import { COMPONENTS, type Components } from './components.ts'
import { faultsOfFiles } from './faults-of-files.ts'
import { NoticeLimiter } from './rate-limited-logs.ts'
import { type RunningCauseway, startCauseway } from './start-causeway.ts'

/** docs/operations.md promises that the process exits within 10 s of a signal, even if a backend does not answer. */
const SHUTDOWN_LIMIT_MS = 9_500
const LOOK_EVERY_MS = 500
/** If neither the new nor the previous configuration starts after a reload: the delay before the previous one is tried again. */
const START_AGAIN_MS = 5_000

interface RunOptions {
  readonly components?: Components | undefined
  /** Writes log lines; to standard error by default. */
  readonly writeLog?: ((line: string) => void) | undefined
}

const writeToStderr = (line: string): void => void process.stderr.write(`${line}\n`)

/**
 * Runs Causeway until SIGINT, SIGTERM or a fatal error. SIGHUP reloads the configuration with `read`. Resolves to the exit code. If
 * Causeway cannot start, rejects with an error that says what to do.
 */
export async function runCauseway(
  first: ReadConfig,
  read: () => ReadConfig,
  version: string,
  { components = COMPONENTS, writeLog = writeToStderr }: RunOptions = {},
): Promise<number> {
  let log = loggerOf(first, writeLog)
  using asked = new ProcessRequests((code) => {
    log.warn('Shutdown took too long. What has not been sent is sent after the next start.')
    leaveAtOnce(code)
  })
  process.on('SIGINT', () => asked.end(0))
  process.on('SIGTERM', () => asked.end(0))
  process.on('SIGHUP', () => asked.reload())
  endWithParent()
  endWithNpm(() => asked.end(0))
  const lately = new NoticeLimiter(() => performance.now())
  surviveDescriptorExhaustion((reason) => {
    if (lately.isNew(reason)) log.error('No file descriptor was left. The operation is retried.', { reason })
  })

  const start = (next: ReadConfig): Promise<RunningCauseway> => {
    log = loggerOf(next, writeLog)
    for (const warning of next.warnings) log.warn(warning)
    return startCauseway(next.config, {
      version,
      log,
      components,
      onFatal: (reason) => {
        log.error('Causeway cannot continue.', { reason })
        asked.end(1)
      },
    })
  }
  log.info('Starting causeway...', { version, node: process.versions.node })
  let current = { read: first, running: await start(first) }
  flushCompileCache()
  for (;;) {
    const code = await asked.next()
    if (code !== undefined) {
      await current.running[Symbol.asyncDispose]()
      log.info('Shutdown complete.')
      return code
    }
    const pause = (): Promise<boolean> => asked.isToEndWithin(START_AGAIN_MS)
    current = await reload(current, { read, start, components, log: () => log, pause })
  }
}

/** The signals to the process, handled one at a time. */
class ProcessRequests implements Disposable {
  readonly #onLate: (code: number) => void
  #limit: NodeJS.Timeout | undefined
  #wake = Promise.withResolvers<undefined>()
  #code: number | undefined
  #isToReload = false

  /** `onLate` is called if the process does not exit in time, during a start, a reload or a shutdown. */
  constructor(onLate: (code: number) => void) {
    this.#onLate = onLate
  }

  end(code: number): void {
    this.#code ??= code
    this.#limit ??= setTimeout(() => this.#onLate(code), SHUTDOWN_LIMIT_MS)
    this.#wake.resolve(undefined)
  }

  /** Waits for a signal, at most `ms`. Resolves to true if the process has to exit. */
  async isToEndWithin(ms: number): Promise<boolean> {
    const isToEnd = (): boolean => this.#code !== undefined
    if (isToEnd()) return true
    // An earlier signal does not end this wait.
    this.#wake = Promise.withResolvers<undefined>()
    const passed = new AbortController()
    await Promise.race([
      this.#wake.promise,
      sleep(ms, undefined, { signal: passed.signal }).catch(() => undefined),
    ])
    passed.abort()
    return isToEnd()
  }

  reload(): void {
    this.#isToReload = true
    this.#wake.resolve(undefined)
  }

  /** Resolves to the exit code, or to undefined for a reload. */
  async next(): Promise<number | undefined> {
    while (this.#code === undefined && !this.#isToReload) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers<undefined>()
    }
    this.#isToReload = false
    return this.#code
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#limit)
  }
}

/** `process.exit` would wait for threads that wait for a disk. Replacing the process by another program does not. */
function leaveAtOnce(code: number): void {
  if (process.execve === undefined || process.platform === 'win32') process.exit(code)
  process.execve(process.execPath, [process.execPath, '-e', `process.exit(${code})`], {})
}

function loggerOf({ config }: ReadConfig, write: (line: string) => void): Logger {
  return createLogger({
    level: config.telemetry.logLevel,
    encoding: config.telemetry.logEncoding,
    clock: systemClock,
    caller: 'causeway',
    write,
  })
}

/** The launcher for older Node versions starts this process as a child; it exits when the launcher does. */
function endWithParent(): void {
  if (process.send === undefined || process.env['CAUSEWAY_PARENT'] === undefined) return
  process.on('disconnect', () => process.exit(1))
  process.channel?.unref()
}

/** npm kills the shell of `npm start`, which passes no signal on: watches for the end of the parent instead. */
function endWithNpm(end: () => void): void {
  if (process.env['npm_package_name'] !== 'causeway' || process.env['npm_lifecycle_event'] !== 'start') return
  const starter = process.ppid
  setInterval(() => {
    if (process.ppid !== starter) end()
  }, LOOK_EVERY_MS).unref()
}

interface ReadConfig {
  readonly config: CausewayConfig
  readonly warnings: readonly string[]
}

interface Reloading {
  /** Reads the configuration again. Throws an error with a line for each mistake. */
  read: () => ReadConfig
  start: (config: ReadConfig) => Promise<RunningCauseway>
  /** The component types of the configuration. */
  components: Components
  log: () => Logger
  /** Waits before the next attempt. Resolves to true if the process has to exit. */
  pause: () => Promise<boolean>
}

interface Current {
  readonly read: ReadConfig
  readonly running: RunningCauseway
}

const NOT_TAKEN_OVER = 'The new configuration is not used; the previous one stays in use.'

/**
 * Reloads the configuration. The running one is stopped only if the new one and its files are valid, and the database can be used, since
 * otherwise nothing could be started. If the new one fails to start, starts the previous one, again and again until it starts.
 */
async function reload(current: Current, reloading: Reloading): Promise<Current> {
  const { read, start, components, log } = reloading
  const next = await readNext(read, components, log())
  if (next === undefined) return current
  const trouble = current.running.storageTrouble
  if (trouble !== undefined) {
    log().error(NOT_TAKEN_OVER, { reason: `${trouble}; reload again after that` })
    return current
  }
  log().info('Configuration read again; restarting with it.')
  await current.running.stopForRestart()
  try {
    return { read: next, running: await start(next) }
  } catch (error) {
    log().error(NOT_TAKEN_OVER, { reason: errorText(error) })
    return { read: current.read, running: await startAgain(current.read, reloading) }
  }
}

async function startAgain(previous: ReadConfig, { start, log, pause }: Reloading): Promise<RunningCauseway> {
  for (;;) {
    try {
      return await start(previous)
    } catch (error) {
      log().error('The previous configuration cannot be started. It is retried.', {
        reason: errorText(error),
      })
      if (await pause()) throw error
    }
  }
}

async function readNext(
  read: () => ReadConfig,
  components: Components,
  log: Logger,
): Promise<ReadConfig | undefined> {
  try {
    const next = read()
    const unusable: string[] = []
    for await (const { reason, isUsable } of faultsOfFiles(next.config, components))
      if (!isUsable) unusable.push(reason)
    if (unusable.length > 0) throw new Error(unusable.join('\n'))
    return next
  } catch (error) {
    for (const reason of errorText(error).split('\n')) log.error(NOT_TAKEN_OVER, { reason })
    return undefined
  }
}
