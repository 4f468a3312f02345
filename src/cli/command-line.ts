import { parseArgs } from 'node:util'
import { nearest } from '../config/schema/did-you-mean.ts'
import { CliError, EXIT_USAGE } from './cli-error.ts'
import type { Command, Commands } from './commands/command.ts'
import { OPTIONS, optionsOf, writtenOption, type Option, type OptionName } from './options.ts'

type Values = ReturnType<typeof valuesOf>
type Token = ReturnType<typeof tokensOf>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

/** A command line taken apart. */
export interface CommandLine extends Omit<Values, 'config' | 'set'> {
  /** Undefined when there is none. */
  command: string | undefined
  args: string[]
  /** The values of --config and --set, in order. */
  sources: string[]
  sets: string[]
}

const HELP = 'help'
/** What is done without a command. */
export const UNNAMED = 'run'
const ALL = Object.keys(OPTIONS) as OptionName[]
const ALWAYS: readonly OptionName[] = ['help', 'version']

/**
 * Takes arguments apart; options may stand anywhere. `help [<command>]` is read as `[<command>] --help`. Throws CliError where a
 * command or an option is unknown, and where an option is without its value.
 */
export function readCommandLine(argv: readonly string[], commands: Commands): CommandLine {
  const tokens = tokensOf(argv)
  const words = tokens.filter((token) => token.kind === 'positional')
  const options = tokens.filter((token) => token.kind === 'option')
  const asksForHelp = words[0]?.value === HELP
  const asked = asksForHelp ? words.slice(1) : words
  // The help is all there is to say of help.
  const [first, ...args] = asksForHelp && asked[0]?.value === HELP ? asked.slice(1) : asked
  // What was to be the value of a misspelt option would else be taken for the command.
  const misspelt = options.find(({ name, index }) => !isOption(name) && index < (first?.index ?? Infinity))
  if (misspelt !== undefined) throw unknownOption(argv, misspelt, undefined, ALL)
  const command = first === undefined ? commands.get(UNNAMED) : commandNamed(first.value, commands)
  if (asksForHelp && args.length > 0) throw new CliError('write causeway help [<command>]', EXIT_USAGE)
  const known = [...(command === undefined ? [] : optionsOf(command)), ...ALWAYS]
  for (const option of options) {
    const name = known.find((one) => one === option.name)
    if (name !== undefined) checkValue(name, option)
    else if (command?.passesOn === true) throw beforeDashes(argv, tokens, option, known)
    else throw unknownOption(argv, option, first?.value ?? UNNAMED, known)
  }
  const { config, set, help, ...others } = valuesOf(argv)
  return {
    ...others,
    help: asksForHelp || help === true,
    command: first?.value,
    args: args.map(({ value }) => value),
    sources: config ?? [],
    sets: set ?? [],
  }
}

function tokensOf(argv: readonly string[]) {
  // Not strict, so that every mistake is told in the words of this program.
  const { tokens } = parseArgs({
    args: [...argv],
    options: OPTIONS,
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  return tokens
}

function valuesOf(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true }).values
}

function commandNamed(name: string, commands: Commands): Command {
  const command = commands.get(name)
  if (command !== undefined) return command
  const near = meant(isOption(name) ? [`--${name}`] : nearest(name, [...commands.keys(), HELP]))
  throw new CliError(
    `unknown command ${JSON.stringify(name.slice(0, 64))}${near}; causeway --help lists the commands`,
    EXIT_USAGE,
  )
}

/** Whether an option has a value where it takes one, and none where it takes none. */
function checkValue(name: OptionName, { value: given, inlineValue }: OptionToken): void {
  const { type, value }: Option = OPTIONS[name]
  if (type === 'boolean') {
    if (given !== undefined) throw new CliError(`--${name} takes no value; write --${name}`, EXIT_USAGE)
    return
  }
  if (given === undefined) {
    throw new CliError(`--${name} needs a value; write ${writtenOption(name)}`, EXIT_USAGE)
  }
  if (inlineValue || given.length < 2 || !given.startsWith('-')) return
  throw new CliError(
    `--${name} is followed by ${given}; write its value, as in --${name}=${value ?? ''}`,
    EXIT_USAGE,
  )
}

/** Of an option that a command does not take; without a command, of one that there is not. */
function unknownOption(
  argv: readonly string[],
  token: OptionToken,
  command: string | undefined,
  known: readonly OptionName[],
): CliError {
  if (command !== undefined && isOption(token.name)) {
    const taken = known.filter((name) => !ALWAYS.includes(name)).map((name) => `--${name}`)
    return new CliError(
      `${command} takes no --${token.name}; leave it out (it takes ${taken.join(', ')})`,
      EXIT_USAGE,
    )
  }
  const written = writtenName(argv, token)
  const where =
    command === undefined
      ? 'causeway --help lists commands and options'
      : `causeway ${command} --help lists its options`
  return new CliError(`unknown option ${written}${meant(optionsNear(written, known))}; ${where}`, EXIT_USAGE)
}

/** Of an option before --, where a command hands on to another program what stands behind it. */
function beforeDashes(
  argv: readonly string[],
  tokens: readonly Token[],
  option: OptionToken,
  known: readonly OptionName[],
): CliError {
  const [command, first] = tokens.filter((token) => token.kind === 'positional')
  const isNear = optionsNear(writtenName(argv, option), known).length > 0
  if (isNear || tokens.some(({ kind }) => kind === 'option-terminator'))
    return unknownOption(argv, option, command?.value, known)
  const before = argv[Math.min(option.index, first?.index ?? option.index)] ?? ''
  return new CliError(`what is for kubectl stands behind --; write -- before ${before}`, EXIT_USAGE)
}

/** An option as it was typed, a single dash before a long name too. */
function writtenName(argv: readonly string[], { index, rawName }: OptionToken): string {
  return argv[index]?.split('=', 1)[0] ?? rawName
}

function optionsNear(written: string, known: readonly OptionName[]): string[] {
  const letters = written.replace(/^-+/, '')
  // A single letter is near to every short name.
  return letters.length < 2 ? [] : nearest(letters, known).map((name) => `--${name}`)
}

function isOption(name: string): boolean {
  return ALL.some((option) => option === name)
}

function meant(names: readonly string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.join(', ')}?`
}
