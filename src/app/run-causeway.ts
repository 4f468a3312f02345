import { flushCompileCache } from 'node:module'
import type { CausewayConfig, ComponentConfig } from '../config/causeway-config.ts'
import { type ComponentDeclaration, typeNamed } from '../config/component-type.ts'
import { errorText } from '../model/faults.ts'
import { createLogger, type Logger } from '../platform/logger.ts'
import { surviveDescriptorExhaustion } from '../platform/open-files.ts'
import { systemClock } from '../platform/system-clock.ts'
import { COMPONENTS, type Components } from './components.ts'
import { NoticeLimiter } from './rate-limited-logs.ts'
import { type RunningCauseway, startCauseway } from './start-causeway.ts'

/** docs/operations.md promises: the process exits within 10 s of a signal, even with a dead backend. */
const SHUTDOWN_LIMIT_MS = 9_500

interface RunOptions {
  readonly components?: Components | undefined
  /** Takes log lines; standard error by default. */
  readonly writeLog?: ((line: string) => void) | undefined
}

const writeToStderr = (line: string): void => void process.stderr.write(`${line}\n`)

/**
 * Runs Causeway until SIGINT, SIGTERM or a fatal fault; SIGHUP reloads the configuration with `read`. Returns the exit code;
 * rejects with what to do when it cannot start.
 */
export async function runCauseway(
  first: ReadConfig,
  read: () => ReadConfig,
  version: string,
  { components = COMPONENTS, writeLog = writeToStderr }: RunOptions = {},
): Promise<number> {
  let log = loggerOf(first, writeLog)
  const asked = new ProcessRequests()
  process.on('SIGINT', () => asked.end(0))
  process.on('SIGTERM', () => asked.end(0))
  process.on('SIGHUP', () => asked.reload())
  endWithParent()
  const lately = new NoticeLimiter(() => performance.now())
  surviveDescriptorExhaustion((reason) => {
    if (lately.isNew(reason)) log.error('No descriptor was left; it is tried again.', { reason })
  })

  const start = (next: ReadConfig): Promise<RunningCauseway> => {
    log = loggerOf(next, writeLog)
    for (const warning of next.warnings) log.warn(warning)
    return startCauseway(next.config, {
      version,
      log,
      components,
      onFatal: (reason) => {
        log.error('Causeway cannot go on.', { reason })
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
      await shutDown(current.running, log, code)
      return code
    }
    current = await reload(current, { read, start, components, log: () => log })
  }
}

/** The signals that the process got, one at a time. */
class ProcessRequests {
  #wake = Promise.withResolvers<undefined>()
  #code: number | undefined
  #isToReload = false

  end(code: number): void {
    this.#code ??= code
    this.#wake.resolve(undefined)
  }

  reload(): void {
    this.#isToReload = true
    this.#wake.resolve(undefined)
  }

  /** Resolves with the exit code, or with undefined to reload. */
  async next(): Promise<number | undefined> {
    while (this.#code === undefined && !this.#isToReload) {
      await this.#wake.promise
      this.#wake = Promise.withResolvers<undefined>()
    }
    this.#isToReload = false
    return this.#code
  }
}

async function shutDown(running: RunningCauseway, log: Logger, code: number): Promise<void> {
  const limit = setTimeout(() => {
    log.warn('Shutdown took too long; what is not sent is sent after the next start.')
    process.exit(code)
  }, SHUTDOWN_LIMIT_MS)
  await running[Symbol.asyncDispose]()
  clearTimeout(limit)
  log.info('Shutdown complete.')
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

/** Started by the launcher for older Node versions, this process ends when the launcher ends. */
function endWithParent(): void {
  if (process.send === undefined || process.env['CAUSEWAY_PARENT'] === undefined) return
  process.on('disconnect', () => process.exit(1))
  process.channel?.unref()
}

/** A configuration with its warnings. */
interface ReadConfig {
  readonly config: CausewayConfig
  readonly warnings: readonly string[]
}

interface Reloading {
  /** Reads the configuration again. Throws what is wrong with it, a line for each mistake. */
  read: () => ReadConfig
  start: (config: ReadConfig) => Promise<RunningCauseway>
  /** The types that the configuration is read with. */
  components: Components
  log: () => Logger
}

interface Current {
  readonly read: ReadConfig
  readonly running: RunningCauseway
}

const KEPT = 'The configuration is not taken over; the one before stays in use.'

/**
 * Reloads: stops what runs only after the new configuration and its files were found right. If the new one does not start all the
 * same, starts the previous one again. Rejects when that fails too.
 */
async function reload(current: Current, { read, start, components, log }: Reloading): Promise<Current> {
  const next = await readNext(read, components, log())
  if (next === undefined) return current
  log().info('Configuration read again; restarting with it.')
  await current.running.stopForRestart()
  try {
    return { read: next, running: await start(next) }
  } catch (error) {
    log().error(KEPT, { reason: errorText(error) })
    return { read: current.read, running: await start(current.read) }
  }
}

async function readNext(
  read: () => ReadConfig,
  components: Components,
  log: Logger,
): Promise<ReadConfig | undefined> {
  try {
    const next = read()
    await checkFiles(next.config, components)
    return next
  } catch (error) {
    for (const reason of errorText(error).split('\n')) log.error(KEPT, { reason })
    return undefined
  }
}

/** Reads every certificate, token and password file that the configuration names. Rejects with what is wrong with one. */
async function checkFiles(
  { receivers, exporters, extensions }: CausewayConfig,
  components: Components,
): Promise<void> {
  using opened = new DisposableStack()
  const check = async (types: readonly ComponentDeclaration[], configs: readonly ComponentConfig[]) => {
    for (const { id, type, settings } of configs)
      opened.use(await typeNamed(types, type)?.openFiles?.(id, settings))
  }
  await check(components.receivers, receivers)
  await check(components.exporters, exporters)
  await check(components.extensions, extensions)
}
