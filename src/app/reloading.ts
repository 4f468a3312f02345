import { errorText } from '../model/error-text.ts'
import type { CausewayConfig } from '../config/causeway-config.ts'
import type { Logger } from '../telemetry/logger.ts'
import { checkFiles } from './check-files.ts'
import type { Components } from './components.ts'
import type { RunningCauseway } from './start-causeway.ts'

/** A configuration, and what is to be said about it. */
export interface ReadConfig {
  readonly config: CausewayConfig
  readonly warnings: readonly string[]
}

export interface Reloading {
  /** Reads the configuration again. Throws what is wrong with it, a line for each mistake. */
  read: () => ReadConfig
  start: (config: ReadConfig) => Promise<RunningCauseway>
  /** The types that the configuration is read with. */
  components: Components
  log: () => Logger
}

export interface Current {
  readonly read: ReadConfig
  readonly running: RunningCauseway
}

const KEPT = 'The configuration is not taken over; the one before stays in use.'

/**
 * Takes the configuration over as it is now. What runs is stopped only once nothing is wrong with the configuration and the
 * files it names; when the new one does not start all the same, the one before is started again. Rejects when that fails too.
 */
export async function reload(
  current: Current,
  { read, start, components, log }: Reloading,
): Promise<Current> {
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
