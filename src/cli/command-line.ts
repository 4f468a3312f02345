import { parseArgs } from 'node:util'
import { CliError, EXIT_USAGE, messageOf } from './cli-error.ts'

const OPTIONS = {
  config: { type: 'string', multiple: true },
  set: { type: 'string', multiple: true },
  format: { type: 'string' },
  state: { type: 'string' },
  object: { type: 'string' },
  service: { type: 'string' },
  limit: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

export type OptionName = keyof typeof OPTIONS

/** A command line taken apart; whether its command exists and takes these options is looked at later. */
export interface CommandLine {
  /** Undefined when there is none. */
  command: string | undefined
  args: string[]
  /** The values of --config and --set, in order. */
  sources: string[]
  sets: string[]
  format: string | undefined
  state: string | undefined
  object: string | undefined
  service: string | undefined
  limit: string | undefined
  help: boolean
  version: boolean
  /** The options that were given. */
  given: OptionName[]
}

/** Takes arguments apart; options may stand anywhere. Throws CliError at an unknown option or one without its value. */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const { values, positionals } = parsed(argv)
  const [command, ...args] = positionals
  const {
    config = [],
    set = [],
    help = false,
    version = false,
    format,
    state,
    object,
    service,
    limit,
  } = values
  const given = (Object.keys(OPTIONS) as OptionName[]).filter((name) => values[name] !== undefined)
  return {
    command,
    args,
    sources: config,
    sets: set,
    format,
    state,
    object,
    service,
    limit,
    help,
    version,
    given,
  }
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const [sentence = ''] = messageOf(error).split(/\.\s|\n/)
    throw new CliError(`${sentence}; causeway --help lists commands and options`, EXIT_USAGE)
  }
}
