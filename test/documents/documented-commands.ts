import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** A command that a document has its reader type. */
interface DocumentedCommand {
  document: string
  command: string
}

const DOCUMENTS = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'ARCHITECTURE.md',
  'docs',
  'examples',
  'packages',
]
const FENCE = /^( *)```([^\n`]*)\n([\s\S]*?)^\1```$/gm
const SHELLS = new Set(['sh', 'bash', 'shell', 'zsh', 'console', 'shell-session'])
const PROMPT = /^\$ /

/** Every command in a fence of the documents. */
export function documentedCommands(): DocumentedCommand[] {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard', ...DOCUMENTS]
  const files = execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\n')
  return files
    .filter((file) => file.endsWith('.md'))
    .flatMap((document) =>
      commandsIn(readFileSync(ROOT + document, 'utf8')).map((command) => ({ document, command })),
    )
}

/** In a shell's fence every line, or those after a `$ ` where there are such; in any other only those. */
export function commandsIn(text: string): string[] {
  return [...text.matchAll(FENCE)].flatMap(([, , language = '', body = '']) => {
    const lines = body
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.trim())
    const prompted = lines.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, ''))
    const isShell = SHELLS.has(language.trim())
    const commands = prompted.length > 0 || !isShell ? prompted : lines
    return commands.map(withoutComment).filter((command) => command !== '')
  })
}

function withoutComment(line: string): string {
  return line.replace(/(^|\s+)#(\s.*)?$/, '').trim()
}
