import type { Command } from './command.ts'

/** What `causeway --help` prints. */
export function helpText(commands: ReadonlyMap<string, Command>): string {
  const rows = [...commands].map(
    ([name, { usage, summary }]) => [`${name} ${usage}`.trimEnd(), summary] as const,
  )
  const width = Math.max(...rows.map(([left]) => left.length))
  return `Causeway shows a cascading Kubernetes change as one trace.

Usage: causeway [<command>] --config <file> [options]

Commands:
${rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n')}

Options:
  --config <uri>            the configuration: a file, or env:NAME or yaml:TEXT; later ones are laid over earlier ones
  --set <a.b=c>             one setting laid over all of them; may be repeated
  --format text|json        for people or for programs
  --state open|settled      cascades: only those in this state
  --object <reference>      cascades: only those of this object, or of all below apps/v1/deployments/default
  --service <name>          cascades: only those in which the service takes part
  --limit <n>               cascades, mergelogs: at most so many
  -h, --help                print this
  -v, --version             print the version
`
}
