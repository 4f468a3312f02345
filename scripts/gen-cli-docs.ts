import { COMMANDS } from '../src/cli/commands/commands.ts'
import { commandHelp, helpText } from '../src/cli/text/help-text.ts'

export const CLI_DOCS = new URL('../docs/cli.md', import.meta.url)

/** docs/cli.md: what --help prints, of all and of each command. */
export function renderCliDocs(): string {
  const commands = [...COMMANDS].map(
    ([name, command]) => `## ${name}\n\n\`\`\`text\n${commandHelp(name, command)}\`\`\`\n`,
  )
  return `<!-- Written by npm run gen from src/cli; change it there. -->

# Command line

\`\`\`text
${helpText(COMMANDS)}\`\`\`

Text goes to a terminal in colour unless \`NO_COLOR\` is set; elsewhere it is as wide as \`COLUMNS\` says, or 100 characters.

${commands.join('\n')}`
}
