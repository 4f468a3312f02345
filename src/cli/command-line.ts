import { parseArgs } from 'node:util'
import { CliError, EXIT_USAGE, messageOf } from './cli-error.ts'
import { OPTIONS, type OptionName } from './options.ts'

type Values = ReturnType<typeof parsed>['values']

/** A command line taken apart; whether its command exists and takes these options is looked at later. */
export interface CommandLine extends Omit<Values, 'config' | 'set'> {
  /** Undefined when there is none. */
  command: string | undefined
  args: string[]
  /** The values of --config and --set, in order. */
  sources: string[]
  sets: string[]
  /** The options that were given. */
  given: OptionName[]
}

/** Takes arguments apart; options may stand anywhere. Throws CliError at an unknown option or one without its value. */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const { values, positionals } = parsed(argv)
  const [command, ...args] = positionals
  const { config, set, ...others } = values
  const given = (Object.keys(OPTIONS) as OptionName[]).filter((name) => values[name] !== undefined)
  return { ...others, command, args, sources: config ?? [], sets: set ?? [], given }
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true })
  } catch (error) {
    const [sentence = ''] = messageOf(error).split(/\.\s|\n/)
    const [, option] = /^Option '(--[a-z-]+)' argument is ambiguous/.exec(sentence) ?? []
    if (option !== undefined) {
      throw new CliError(
        `${option} is followed by something with a dash; write its value, as in ${option}=7`,
        EXIT_USAGE,
      )
    }
    throw new CliError(`${sentence}; causeway --help lists commands and options`, EXIT_USAGE)
  }
}
