import type { CliIo, Command, CommandLine } from './command-line.ts'
import { optionsOf, UsageError } from './command-line.ts'
import { COMMANDS } from './commands.ts'
import { type Option, type OptionName, OPTIONS } from './options.ts'

const FILES = ['<file>', '<path>', '<uri>']

const SHELLS: readonly (string | undefined)[] = ['bash', 'zsh']

/** `causeway completion bash`: prints the completion script for bash, or for zsh in bash mode. */
export function runCompletion({ args: [shell] }: CommandLine, io: CliIo): number {
  if (!SHELLS.includes(shell))
    throw new UsageError('write causeway completion bash, or zsh; no other shell is known')
  io.stdout.write(bashCompletion())
  return 0
}

function bashCompletion(): string {
  const valued = (Object.keys(OPTIONS) as OptionName[]).filter((name) => valueOf(name) !== undefined)
  const commands = [...COMMANDS.keys(), 'help'].join(' ')
  return `if [[ -n \${ZSH_VERSION-} ]]; then
  (( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
  autoload -Uz bashcompinit && bashcompinit
fi
_causeway() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      --) return ;;
      ${[...COMMANDS.keys()].join(' | ')}) [[ -n $command ]] || command=\${COMP_WORDS[i]} ;;
    esac
  done
  case $previous in
${valued.map((name) => `    --${name}) ${completed(valueOf(name) ?? '')} ;;`).join('\n')}
  esac
  case $command in
    '') words='${commands} ${written(['config', 'set', 'help', 'version'])}' ;;
${[...COMMANDS].map(([name, command]) => `    ${name}) words='${wordsOf(command)}' ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _causeway causeway
`
}

const wordsOf = (command: Command): string => written([...optionsOf(command), 'help'])

const written = (options: readonly OptionName[]): string => options.map((name) => `--${name}`).join(' ')

const valueOf = (name: OptionName): string | undefined => (OPTIONS[name] as Option).value

/** The shell code that completes the value of an option. */
function completed(value: string): string {
  if (FILES.includes(value)) return 'COMPREPLY=($(compgen -f -- "$word")); return'
  if (value.startsWith('<')) return 'COMPREPLY=(); return'
  return `COMPREPLY=($(compgen -W '${value.replaceAll('|', ' ')}' -- "$word")); return`
}
