import type { Command } from '../commands/command.ts'
import { OPTIONS, optionsOf, writtenOption, type OptionName } from '../options.ts'

/** Those of which it is not said which commands take them. */
const WIDESPREAD: readonly OptionName[] = ['config', 'set', 'format', 'help', 'version']
const HELP = ['help [<command>]', 'say what Causeway does, or what a command does'] as const

/** What `causeway --help` prints. */
export function helpText(commands: ReadonlyMap<string, Command>): string {
  const named = [...commands].map(
    ([name, { usage, summary }]) => [`${name} ${usage}`.trimEnd(), summary] as const,
  )
  return `Causeway shows a cascading Kubernetes change as one trace.

Usage: causeway [<command>] --config <file> [options]

Commands:
${listed([...named, HELP])}

Options:
${listed((Object.keys(OPTIONS) as OptionName[]).map((name) => [writtenOption(name), `${takersOf(name, commands)}${OPTIONS[name].meaning}`]))}

causeway <command> --help, or causeway help <command>, says more. Every command exits 0, or with another code and a line on stderr that says what to do.
`
}

/** What `causeway <command> --help` prints. */
export function commandHelp(name: string, command: Command): string {
  const { usage, summary, help, config, meanings, passesOn } = command
  const own = optionsOf(command).map(
    (option) => [writtenOption(option), meanings?.[option] ?? OPTIONS[option].meaning] as const,
  )
  const file = config === undefined ? ' --config <file>' : config === 'optional' ? ' [--config <file>]' : ''
  // What stands behind -- is no option of Causeway's.
  const all = `${file} [options]`
  const form = passesOn === true ? `${all} ${usage}` : `${` ${usage}`.trimEnd()}${all}`
  return `causeway ${name}: ${summary}

Usage: causeway ${name}${form}
${help === undefined ? '' : `\n${help.trim()}\n`}
Options:
${listed(own)}
`
}

function takersOf(name: OptionName, commands: ReadonlyMap<string, Command>): string {
  if (WIDESPREAD.includes(name)) return ''
  const takers = [...commands].filter(([, { options }]) => options.includes(name)).map(([command]) => command)
  return `${takers.join(', ')}: `
}

function listed(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')
}
