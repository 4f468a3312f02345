import type { Command } from '../commands/command.ts'
import { OPTIONS, writtenOption, type OptionName } from '../options.ts'

const EVERYWHERE: readonly OptionName[] = ['config', 'set']
const ALONE: readonly OptionName[] = ['help', 'version']

/** What `causeway --help` prints. */
export function helpText(commands: ReadonlyMap<string, Command>): string {
  const named = [...commands].map(
    ([name, { usage, summary }]) => [`${name} ${usage}`.trimEnd(), summary] as const,
  )
  return `Causeway shows a cascading Kubernetes change as one trace.

Usage: causeway [<command>] --config <file> [options]

Commands:
${listed(named)}

Options:
${listed((Object.keys(OPTIONS) as OptionName[]).map((name) => [writtenOption(name), `${takersOf(name, commands)}${OPTIONS[name].meaning}`]))}

causeway <command> --help says more. Every command exits 0, or with another code and a line on stderr that says what to do.
`
}

/** What `causeway <command> --help` prints. */
export function commandHelp(name: string, command: Command): string {
  const { usage, summary, options, help, config, meanings } = command
  const own = optionsOf(options)
    .filter((option) => config !== 'itself' || option !== 'config')
    .map((option) => [writtenOption(option), meanings?.[option] ?? OPTIONS[option].meaning] as const)
  const file = config === undefined ? ' --config <file>' : config === 'optional' ? ' [--config <file>]' : ''
  // What stands behind -- is no option of Causeway's.
  const all = `${file} [options]`
  const form = usage.startsWith('--') ? `${all} ${usage}` : `${` ${usage}`.trimEnd()}${all}`
  return `causeway ${name}: ${summary}

Usage: causeway ${name}${form}
${help === undefined ? '' : `\n${help.trim()}\n`}
Options:
${listed(own)}
`
}

/** The options that a command takes, with those that all take. */
export function optionsOf(options: readonly OptionName[]): OptionName[] {
  return [...EVERYWHERE, ...options]
}

function takersOf(name: OptionName, commands: ReadonlyMap<string, Command>): string {
  if (EVERYWHERE.includes(name) || ALONE.includes(name) || name === 'format') return ''
  const takers = [...commands].filter(([, { options }]) => options.includes(name)).map(([command]) => command)
  return `${takers.join(', ')}: `
}

function listed(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
