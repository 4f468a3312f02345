import { parseArgs } from 'node:util'
import type { Components } from '../app/components.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import { nearest } from '../config/schema.ts'
import { parseDuration } from '../config/value-kinds.ts'
import { type Cpid, type CpidPrefix, parseCpid, parseCpidPrefix } from '../model/merge-graph.ts'
import type { CausewayQueries } from '../model/queries.ts'
import { systemClock } from '../platform/system-clock.ts'
import { nanosOfMs, parseRfc3339, type UnixNanos } from '../model/time-and-size.ts'
import { type Option, type OptionName, OPTIONS } from './options.ts'

export type Commands = ReadonlyMap<string, Command>

export interface Command {
  /** Its arguments, as shown in the help. */
  usage?: string
  summary: string
  /** Further text in the help. */
  help?: string
  /** Its options besides --config and --set. */
  options: readonly OptionName[]
  /** Whether --config is optional, or the command brings its own configuration, or needs none. By default --config is required. */
  config?: 'optional' | 'itself' | 'none'
  /** Whether arguments after -- are passed to another program. */
  passesOn?: boolean
  /** Help texts for options with another meaning in this command. */
  meanings?: Readonly<Partial<Record<OptionName, string>>>
  /** 0 by default. */
  leastArgs?: number
  /** `leastArgs` by default. */
  mostArgs?: number
  load: () => Promise<Run>
}

/** Runs a command line. Returns the exit code. Throws CliError or ConfigError. */
export type Run = (line: CommandLine, io: CliIo) => Promise<number> | number

const OF_CONFIG: readonly OptionName[] = ['config', 'set']

/** The options of a command, with --config and --set if it takes a configuration. */
export function optionsOf({ options, config }: Pick<Command, 'options' | 'config'>): OptionName[] {
  if (config === 'none') return [...options]
  return [...OF_CONFIG.filter((option) => config !== 'itself' || option === 'set'), ...options]
}

/** How an option is written, such as `--limit <n>`. */
export function writtenOption(name: OptionName): string {
  const { short, value }: Option = OPTIONS[name]
  return `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`
}

type Values = ReturnType<typeof valuesOf>
type Token = ReturnType<typeof tokensOf>[number]
type OptionToken = Extract<Token, { kind: 'option' }>

export interface CommandLine extends Omit<Values, 'config' | 'set'> {
  /** Undefined if none was given. */
  command: string | undefined
  args: string[]
  /** The values of --config and --set, in order. */
  sources: string[]
  sets: string[]
}

const HELP = 'help'
/** The command that runs if none is given. */
export const UNNAMED = 'run'
const ALL = Object.keys(OPTIONS) as OptionName[]
const ALWAYS: readonly OptionName[] = ['help', 'version']

/**
 * Parses arguments; options may be anywhere. `help [<command>]` means `[<command>] --help`. Throws CliError for an unknown command or
 * option, and for an option without its value.
 */
export function readCommandLine(argv: readonly string[], commands: Commands): CommandLine {
  const tokens = tokensOf(argv)
  const words = tokens.filter((token) => token.kind === 'positional')
  const options = tokens.filter((token) => token.kind === 'option')
  const asksForHelp = words[0]?.value === HELP
  const asked = asksForHelp ? words.slice(1) : words
  // `help help` means `help`.
  const [first, ...args] = asksForHelp && asked[0]?.value === HELP ? asked.slice(1) : asked
  // Checked first, since the value of a misspelt option would count as the command.
  const misspelt = options.find(({ name, index }) => !isOption(name) && index < (first?.index ?? Infinity))
  if (misspelt !== undefined) throw unknownOption(argv, misspelt, undefined, ALL)
  const command = first === undefined ? commands.get(UNNAMED) : commandNamed(first.value, commands)
  if (asksForHelp && args.length > 0) throw new UsageError('write causeway help [<command>]')
  const known = [...(command === undefined ? [] : optionsOf(command)), ...ALWAYS]
  const program = command?.passesOn === true ? args[0] : undefined
  for (const option of options) {
    // An option after the program belongs to the program, even if Causeway has an option of that name.
    if (program !== undefined && option.index > program.index) throw missingDashes(first, program.value)
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
  // Not strict: this module writes its own error messages.
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
  const near = suggestion(isOption(name) ? [`--${name}`] : nearest(name, [...commands.keys(), HELP]))
  throw new UsageError(
    `unknown command ${JSON.stringify(name.slice(0, 64))}${near}; causeway --help lists the commands`,
  )
}

/** Checks that an option has a value if, and only if, it takes one. */
function checkValue(name: OptionName, { value: given, inlineValue }: OptionToken): void {
  const { type, value }: Option = OPTIONS[name]
  if (type === 'boolean') {
    if (given !== undefined) throw new UsageError(`--${name} takes no value; write --${name}`)
    return
  }
  if (given === undefined) {
    throw new UsageError(`--${name} needs a value; write ${writtenOption(name)}`)
  }
  if (inlineValue || given.length < 2 || !given.startsWith('-')) return
  throw new UsageError(`--${name} is followed by ${given}; write its value, as in --${name}=${value ?? ''}`)
}

/** The error for an option that does not exist, or that the command does not take. */
function unknownOption(
  argv: readonly string[],
  token: OptionToken,
  command: string | undefined,
  known: readonly OptionName[],
): CliError {
  if (command !== undefined && isOption(token.name)) {
    const taken = known.filter((name) => !ALWAYS.includes(name)).map((name) => `--${name}`)
    const others = taken.length === 0 ? '' : ` (it takes ${taken.join(', ')})`
    return new UsageError(`${command} takes no --${token.name}; leave it out${others}`)
  }
  const written = writtenName(argv, token)
  const where =
    command === undefined
      ? 'causeway --help lists commands and options'
      : `causeway ${command} --help lists its options`
  return new UsageError(`unknown option ${written}${suggestion(optionsNear(written, known))}; ${where}`)
}

/** The error for an unknown option before --, if arguments after -- are passed to another program. */
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
  return missingDashes(command, argv[Math.min(option.index, first?.index ?? option.index)] ?? '')
}

function missingDashes(command: { value: string } | undefined, before: string): CliError {
  const whose = command?.value === UNNAMED ? 'another program' : (command?.value ?? '')
  return new UsageError(`the arguments for ${whose} go after --; write -- before ${before}`)
}

/** An option as it was typed, perhaps with a single dash before a long name. */
function writtenName(argv: readonly string[], { index, rawName }: OptionToken): string {
  return argv[index]?.split('=', 1)[0] ?? rawName
}

function optionsNear(written: string, known: readonly OptionName[]): string[] {
  const letters = written.replace(/^-+/, '')
  // A single letter is similar to every short name.
  return letters.length < 2 ? [] : nearest(letters, known).map((name) => `--${name}`)
}

function isOption(name: string): boolean {
  return ALL.some((option) => option === name)
}

function suggestion(names: readonly string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.join(', ')}?`
}

/** How many CPIDs an error lists if several match. */
const MOST_NAMED = 8
const MAX_LIMIT = 10_000
const MAX_ROWS = 1_000_000
const WHOLE_NUMBER = /^[0-9]{1,7}$/
const MAX_TIMEOUT_MS = 3_600_000

/**
 * Parses a CPID argument, whole or its first digits. Returns a function that finds the CPID. Throws CliError if it is malformed; the
 * function throws it if no known CPID, or several, begin with it.
 */
export function cpidOf(text: string): (queries: CausewayQueries) => Cpid {
  const cpid = parseCpid(text)
  if (cpid !== undefined) return () => cpid
  const prefix = parseCpidPrefix(text)
  if (prefix !== undefined) return (queries) => onlyCpidWithPrefix(prefix, queries)
  throw new UsageError(
    `${JSON.stringify(text.slice(0, 64))} is no CPID; write a UUID, or at least its first eight digits`,
  )
}

function onlyCpidWithPrefix(prefix: CpidPrefix, queries: CausewayQueries): Cpid {
  const [first, ...others] = queries.cpidsBeginning(prefix, MOST_NAMED + 1)
  if (first === undefined) {
    throw new CliError(
      `no mergelog, span or log has named a CPID that begins with ${prefix}; check it, and whether its sender reaches Causeway`,
    )
  }
  if (others.length === 0) return first
  const named = [first, ...others].slice(0, MOST_NAMED).join(', ')
  const more = others.length < MOST_NAMED ? '' : ' and others'
  throw new CliError(
    `several CPIDs begin with ${prefix}: ${named}${more}; write more digits of the one you mean`,
  )
}

/** Whether --format is json. */
export function wantsJson({ format }: CommandLine): boolean {
  return wordOf('--format', format, ['text', 'json']) === 'json'
}

function wordOf<const Word extends string>(
  option: string,
  given: string | undefined,
  words: readonly Word[],
): Word | undefined {
  const word = words.find((one) => one === given)
  if (given === undefined || word !== undefined) return word
  throw new UsageError(`${option} ${JSON.stringify(given)} is unknown; write ${words.join(' or ')}`)
}

export function limitOf<T>({ limit }: CommandLine, otherwise: T): number | T {
  return wholeNumber('--limit', limit, MAX_LIMIT) ?? otherwise
}

export function maxRowsOf({ 'max-rows': maxRows }: CommandLine, otherwise: number): number {
  return wholeNumber('--max-rows', maxRows, MAX_ROWS) ?? otherwise
}

function wholeNumber(option: string, text: string | undefined, most: number): number | undefined {
  if (text === undefined) return undefined
  const value = WHOLE_NUMBER.test(text) ? Number(text) : 0
  if (value >= 1 && value <= most) return value
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is out of range; write a whole number from 1 to ${most}`,
  )
}

/** The value of --timeout in milliseconds. */
export function timeoutOf({ timeout }: CommandLine, otherwise: number): number {
  if (timeout === undefined) return otherwise
  const ms = parseDuration(timeout)
  if (typeof ms === 'number' && ms > 0 && ms <= MAX_TIMEOUT_MS) return Math.ceil(ms)
  throw new UsageError(
    `--timeout ${JSON.stringify(timeout)} is out of range, and cannot be turned off; write a duration up to 1h, such as 500ms, 30s or 5m`,
  )
}

export function stateOf({ state }: CommandLine): 'open' | 'settled' | undefined {
  return wordOf('--state', state, ['open', 'settled'])
}

/** The time given by --since or --until. */
export function timeOf(option: 'since' | 'until', line: CommandLine, io: CliIo): UnixNanos | undefined {
  const text = line[option]
  if (text === undefined) return undefined
  const back = parseDuration(text)
  const time =
    typeof back === 'number'
      ? nanosOfMs(Math.max((io.nowMs ?? systemClock.wallMs)() - back, 0))
      : parseRfc3339(text)
  if (time !== undefined) return time
  throw new UsageError(
    `--${option} ${JSON.stringify(text.slice(0, 64))} is no time; write one such as 2026-01-31T09:30:00Z, or a duration back from now such as 2h`,
  )
}

export function causeOf({ cause }: CommandLine): 'operator' | 'self' | undefined {
  return wordOf('--cause', cause, ['operator', 'self'])
}

export interface TextSink {
  write(text: string): unknown
}

/** The environment of a command; tests pass their own. */
export interface CliIo {
  stdout: TextSink
  stderr: TextSink
  readInput: () => Promise<string>
  /** The width of the terminal; 0 if the terminal does not know it, as in some containers; undefined if stdout is not a terminal. */
  terminalWidth: number | undefined
  /** The component types; Causeway's own by default. */
  components?: Components
  env: Readonly<Record<string, string | undefined>>
  /** The time in Unix milliseconds; by default the system clock's. */
  nowMs?: () => number
  /** Aborts on SIGINT or SIGTERM. Before its first call, these end the process. */
  untilAsked?: () => AbortSignal
  /** Called when it is known that no server will run, so that SIGHUP ends the process. A server reloads at SIGHUP. */
  endsAtHangUp?: () => void
  /**
   * Runs Causeway until it is stopped. Returns the exit code. `read` reads the configuration again; `writeLog` writes log lines, by default
   * to standard error.
   */
  run: (loaded: LoadedConfig, read: () => LoadedConfig, writeLog?: (line: string) => void) => Promise<number>
}

/** Exit codes: the command failed or found nothing; the command line is invalid. */
export const EXIT_FAILED = 1
const EXIT_USAGE = 2

/** A command failed. The message is a sentence that ends with what to do. */
export class CliError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = EXIT_FAILED) {
    super(message)
    this.name = 'CliError'
    this.exitCode = exitCode
  }
}

/** The command line is invalid. */
export class UsageError extends CliError {
  constructor(message: string) {
    super(message, EXIT_USAGE)
  }
}

/** The message of an error, trimmed. */
export function messageOf(error: unknown): string {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return String(message).trim()
}
