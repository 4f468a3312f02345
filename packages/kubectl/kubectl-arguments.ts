/** The connection options of a kubectl command line, by name. */
export type Connection = Readonly<Partial<Record<ConnectionOption, string>>>

type ConnectionOption = (typeof CONNECTION)[number]

/** A parsed kubectl command line. */
export interface KubectlArguments {
  /** `apply`; empty where there is none. */
  readonly verb: string
  readonly connection: Connection
  /** All arguments except the connection options. */
  readonly others: readonly string[]
}

const CONNECTION = [
  'kubeconfig',
  'context',
  'cluster',
  'user',
  'server',
  'token',
  'username',
  'password',
  'certificate-authority',
  'client-certificate',
  'client-key',
  'tls-server-name',
  'insecure-skip-tls-verify',
] as const
const NAMES: ReadonlySet<string> = new Set(CONNECTION)
const FLAG = 'insecure-skip-tls-verify'
/** Further options with a value, so that the value is not read as the command. */
const WITH_VALUE = new Set([
  '--namespace',
  '-n',
  '--as',
  '--as-group',
  '--as-uid',
  '--as-user-extra',
  '--cache-dir',
  '--kuberc',
  '--log-flush-frequency',
  '--profile',
  '--profile-output',
  '--request-timeout',
  '--v',
  '-v',
  '--vmodule',
  ...[
    '--output',
    '-o',
    '--template',
    '--field-manager',
    '--role',
    '--clusterrole',
    '--group',
    '--serviceaccount',
  ],
])
/** Commands that change no object, or do not use plain API requests. */
const PLAIN = new Set([
  ...['', 'api-resources', 'api-versions', 'attach', 'cluster-info', 'completion', 'config', 'cp'],
  ...[
    'describe',
    'diff',
    'events',
    'exec',
    'explain',
    'get',
    'help',
    'kustomize',
    'logs',
    'options',
    'plugin',
  ],
  ...['port-forward', 'proxy', 'top', 'version', 'wait', '__complete', '__completeNoDesc'],
])

/** Whether a command of kubectl may change objects. */
export function mayWrite(verb: string): boolean {
  return !PLAIN.has(verb)
}

/** Commands whose `--user` is a subject, not the user of the request. */
const WITH_SUBJECTS = new Set(['create rolebinding', 'create clusterrolebinding', 'set subject'])

/** Parses a kubectl command line as kubectl does. */
export function readKubectlArguments(args: readonly string[]): KubectlArguments {
  const { words, ...read } = takeApart(args, NAMES)
  if (!WITH_SUBJECTS.has(words.join(' '))) return read
  const { verb, connection, others } = takeApart(args, new Set([...NAMES].filter((name) => name !== 'user')))
  return { verb, connection, others }
}

/** `words`: the first two arguments that are not options. */
function takeApart(
  args: readonly string[],
  names: ReadonlySet<string>,
): KubectlArguments & { readonly words: readonly string[] } {
  const connection: Partial<Record<ConnectionOption, string>> = {}
  const others: string[] = []
  const words: string[] = []
  let index = 0
  for (; index < args.length; index++) {
    const arg = args[index] ?? ''
    if (arg === '--') break
    const option = connectionOption(arg, names)
    if (option !== undefined) {
      const [name, value] = option
      connection[name] = value ?? (name === FLAG ? 'true' : (args[++index] ?? ''))
      continue
    }
    others.push(arg)
    if (WITH_VALUE.has(arg)) others.push(...args.slice(++index, index + 1))
    else if (!arg.startsWith('-') && words.length < 2) words.push(arg)
  }
  return { verb: words[0] ?? '', words, connection, others: [...others, ...args.slice(index)] }
}

/** The name of a connection option, and its value if that is in the same argument. */
function connectionOption(
  arg: string,
  names: ReadonlySet<string>,
): [ConnectionOption, string | undefined] | undefined {
  const [, short] = /^-s=?(.*)$/s.exec(arg) ?? []
  if (short !== undefined) return ['server', short === '' ? undefined : short]
  const [, name = '', value] = /^--([a-z-]+)(?:=(.*))?$/s.exec(arg) ?? []
  return names.has(name) ? [name as ConnectionOption, value] : undefined
}
