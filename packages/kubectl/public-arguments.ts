/** Options whose values hold no secrets: names, places and modes, never content. */
const PUBLIC = new Set([
  ...[
    '--filename',
    '-f',
    '--kustomize',
    '-k',
    '--namespace',
    '-n',
    '--context',
    '--cluster',
    '--user',
    '--kubeconfig',
  ],
  ...[
    '--selector',
    '-l',
    '--field-selector',
    '--field-manager',
    '--output',
    '-o',
    '--replicas',
    '--current-replicas',
  ],
  ...[
    '--resource-version',
    '--image',
    '--type',
    '--dry-run',
    '--cascade',
    '--grace-period',
    '--timeout',
    '--to-revision',
  ],
  ...[
    '--revision',
    '--subresource',
    '--container',
    '-c',
    '--containers',
    '--port',
    '--target-port',
    '--name',
    '--min',
  ],
  ...[
    '--max',
    '--cpu',
    '--cpu-percent',
    '--memory',
    '--limits',
    '--requests',
    '--schedule',
    '--restart',
    '--as',
  ],
  ...[
    '--as-group',
    '--prune-allowlist',
    '--applyset',
    '--validate',
    '--request-timeout',
    '-v',
    '--v',
    '--clusterrole',
  ],
  ...[
    '--role',
    '--serviceaccount',
    '--verb',
    '--resource',
    '--resource-name',
    '--class',
    '--tcp',
    '--for',
    '--protocol',
  ],
])
/** Options without a value. */
const ALONE = new Set([
  ...[
    '--all',
    '--all-namespaces',
    '-A',
    '--recursive',
    '-R',
    '--server-side',
    '--force-conflicts',
    '--force',
    '--wait',
  ],
  ...[
    '--now',
    '--ignore-not-found',
    '--overwrite',
    '--prune',
    '--save-config',
    '--record',
    '--local',
    '--watch',
    '-w',
  ],
  ...[
    '--ignore-daemonsets',
    '--delete-emptydir-data',
    '--disable-eviction',
    '--windows-line-endings',
    '--show-managed-fields',
  ],
  ...[
    '--insecure-skip-tls-verify',
    '-i',
    '-t',
    '-it',
    '--stdin',
    '--tty',
    '--rm',
    '--quiet',
    '-q',
    '--expose',
  ],
])
/** kubectl's own commands that write; arguments of others, such as plugins, are hidden. */
const KNOWN = new Set([
  ...['annotate', 'apply', 'auth', 'autoscale', 'certificate', 'cordon', 'create', 'delete', 'drain', 'edit'],
  ...['expose', 'label', 'patch', 'replace', 'rollout', 'run', 'scale', 'set', 'taint', 'uncordon'],
])
/** Commands whose arguments with `=` are images, labels and taints. */
const PUBLIC_PAIRS = /^(?:set image|label|taint)$/
const HIDDEN = '***'
const MAX_ARGUMENTS = 128
const MAX_LENGTH = 256

/**
 * The arguments of kubectl with secrets hidden. Every value that is not known to be harmless is hidden: data of Secrets, patches,
 * environments, tokens, everything after `--`.
 */
export function publicArguments(args: readonly string[]): string[] {
  const shown: string[] = []
  const words: string[] = []
  for (let index = 0; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') {
      shown.push('--', HIDDEN)
      break
    }
    if (!arg.startsWith('-') || arg === '-') {
      shown.push(publicWord(arg, words))
      words.push(arg)
      continue
    }
    const [, name = arg, value] = /^([^=]*)=(.*)$/s.exec(arg) ?? []
    const isPublic = PUBLIC.has(name) && isKnown(words)
    if (value !== undefined) shown.push(`${optionName(name)}=${isPublic ? withoutLogin(value) : HIDDEN}`)
    else {
      shown.push(optionName(name))
      const next = args[index + 1]
      if (ALONE.has(name) || next === undefined || (next.startsWith('-') && next !== '-')) continue
      shown.push(isPublic ? withoutLogin(next) : HIDDEN)
      index++
    }
  }
  return shown.slice(0, MAX_ARGUMENTS).map((arg) => arg.slice(0, MAX_LENGTH))
}

/** A subcommand of a program: `upgrade` in `helm upgrade shop`. */
export const COMMAND_WORD = /^[a-z][a-z-]{0,30}$/

/** The arguments of any program with all values hidden: only its subcommand and the names of its options are shown. */
export function shownArguments(args: readonly string[]): string[] {
  const shown = args.map((arg, index) => {
    if (index === 0 && COMMAND_WORD.test(arg)) return arg
    const [, name, value] = /^(-[^=]*)(=.*)?$/s.exec(arg) ?? []
    if (name === undefined) return HIDDEN
    return value === undefined ? optionName(name) : `${optionName(name)}=${HIDDEN}`
  })
  return shown.slice(0, MAX_ARGUMENTS)
}

/** `-p{"stringData":…}` is an option with its value. */
function optionName(name: string): string {
  return /^(?:--[a-z][a-z0-9-]*|-[A-Za-z]{1,2})$/.test(name) ? name : `${name.slice(0, 2)}${HIDDEN}`
}

function publicWord(word: string, before: readonly string[]): string {
  if (!isKnown(before)) return HIDDEN
  const [key, ...value] = word.split('=')
  const command = before[0] === 'set' ? before.slice(0, 2).join(' ') : (before[0] ?? '')
  if (value.length === 0 || PUBLIC_PAIRS.test(command)) return word
  return `${key ?? ''}=${HIDDEN}`
}

/** Whether the command is kubectl's own; options before a command are. */
function isKnown([command]: readonly string[]): boolean {
  return command === undefined || KNOWN.has(command)
}

/** A file name; if it is a URL, without user, password and query. */
function withoutLogin(value: string): string {
  if (!/^[a-z+]+:\/\//i.test(value)) return value
  if (!URL.canParse(value)) return HIDDEN
  const { protocol, host, pathname } = new URL(value)
  return `${protocol}//${host}${pathname}`
}
