import { COMMANDS } from '../src/cli/commands.ts'
import { commandHelp, helpText } from '../src/cli/run-command.ts'

export const CLI_DOCS = new URL('../docs/reference/cli.md', import.meta.url)

/** The text of docs/reference/cli.md: what --help prints, in general and for each command. */
export function renderCliDocs(): string {
  const commands = [...COMMANDS].map(
    ([name, command]) => `## ${name}\n\n\`\`\`text\n${commandHelp(name, command)}\`\`\`\n`,
  )
  return `<!-- Written by npm run gen from src/cli; change it there. -->

# Command line

For whoever types commands: what \`--help\` prints, in general and for each command.

\`\`\`text
${helpText(COMMANDS)}\`\`\`

On a terminal, trees and findings are in colour, unless \`NO_COLOR\` is set, and the trees of \`cascade\` and the tables of \`sql\` are as wide as it
is. Elsewhere such trees are as wide as \`COLUMNS\` says, or 100 characters, and tables have whole cells.

${commands.join('\n')}`
}
