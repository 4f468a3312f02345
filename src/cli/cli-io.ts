import type { Components } from '../app/components.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { TextSink } from './commands/config-commands.ts'

/** What the command line works on; tests give their own. */
export interface CliIo {
  stdout: TextSink
  stderr: TextSink
  /** All of the standard input, as text. */
  readInput: () => Promise<string>
  /** How wide the terminal is that stdout goes to; undefined when it goes elsewhere. */
  terminalWidth: number | undefined
  /** The types of component that there are; those of Causeway unless given. */
  components?: Components
  env: Readonly<Record<string, string | undefined>>
  /** Aborts once the process is asked to end; until it is called, being asked ends it. */
  untilAsked?: () => AbortSignal
  /**
   * Runs Causeway until it is told to stop, and returns the exit code. `read` reads the configuration again; lines of the log go
   * to the standard error unless `writeLog` takes them.
   */
  run: (loaded: LoadedConfig, read: () => LoadedConfig, writeLog?: (line: string) => void) => Promise<number>
}
