import { flushCompileCache } from 'node:module'
import type { CausewayConfig } from '../config/causeway-config.ts'
import { createLogger } from '../telemetry/logger.ts'
import { startCauseway } from './start-causeway.ts'
import { systemClock } from './system-clock.ts'

/** The promise of the README: gone within 10 s of a signal, even with a dead backend. */
const SHUTDOWN_LIMIT_MS = 9_500

/**
 * Runs Causeway until SIGINT or SIGTERM, or until it cannot go on. Returns the exit code; rejects with what to do when
 * it cannot start.
 */
export async function runCauseway(
  config: CausewayConfig,
  warnings: readonly string[],
  version: string,
): Promise<number> {
  const log = createLogger({
    level: config.telemetry.logLevel,
    encoding: config.telemetry.logEncoding,
    clock: systemClock,
    caller: 'causeway',
    write: (line) => process.stderr.write(`${line}\n`),
  })
  const ended = Promise.withResolvers<number>()
  const stop = (): void => ended.resolve(0)
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  endWithParent()

  log.info('Starting causeway...', { version, node: process.versions.node })
  for (const warning of warnings) log.warn(warning)
  const running = await startCauseway(config, {
    version,
    log,
    onFatal: (reason) => {
      log.error('Causeway cannot go on.', { reason })
      ended.resolve(1)
    },
  })
  flushCompileCache()
  const code = await ended.promise
  const limit = setTimeout(() => {
    log.warn('Shutdown took too long; what is not sent is sent after the next start.')
    process.exit(code)
  }, SHUTDOWN_LIMIT_MS)
  await running[Symbol.asyncDispose]()
  clearTimeout(limit)
  log.info('Shutdown complete.')
  return code
}

/** Under the launcher for older Node versions this process ends with the launcher, however that ends. */
function endWithParent(): void {
  if (process.send === undefined || process.env['CAUSEWAY_PARENT'] === undefined) return
  process.on('disconnect', () => process.exit(1))
  process.channel?.unref()
}
