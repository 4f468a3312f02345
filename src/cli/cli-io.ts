import type { LoadedConfig } from '../config/load-config.ts'
import type { TextSink } from './config-commands.ts'

/** What the command line works on; tests give their own. */
export interface CliIo {
  stdout: TextSink
  stderr: TextSink
  env: Readonly<Record<string, string | undefined>>
  /** Runs Causeway until it is told to stop, and returns the exit code. `read` reads the configuration again. */
  run: (loaded: LoadedConfig, read: () => LoadedConfig) => Promise<number>
}
