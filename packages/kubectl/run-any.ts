import { basename } from 'node:path'
import { ownValue } from '../../src/model/untrusted-names.ts'
import { COMMAND_WORD, shownArguments } from './public-arguments.ts'
import type { ProgramEnd } from './run-program.ts'
import { type ChangeOptions, runAsOneChange } from './run-as-one-change.ts'

/** Of a program that knows tokens, which it sends to no server that is asked in the clear, as the proxy is: where it gets one. */
interface TokenSource {
  readonly option?: string
  readonly variable?: string
}

const KUBECTL: TokenSource = { option: '--token' }
const TERRAFORM: TokenSource = { variable: 'KUBE_TOKEN' }
const TOKEN_SOURCES: ReadonlyMap<string, TokenSource> = new Map([
  ['helm', { option: '--kube-token', variable: 'HELM_KUBETOKEN' }],
  ...['kubectl', 'oc', 'flux'].map((name) => [name, KUBECTL] as const),
  ...['terraform', 'tofu'].map((name) => [name, TERRAFORM] as const),
])

/** Where a program's kubeconfig comes from. */
interface Chosen {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/**
 * Runs any program that reads a kubeconfig, and tells what it wrote as one change. Whatever keeps the change from being told, the program
 * does its work. Rejects with a CliError where it cannot be started.
 */
export async function runAny(
  [program = '', ...args]: readonly string[],
  { kubeconfig, context }: Chosen,
  options: ChangeOptions,
): Promise<ProgramEnd> {
  const service = basename(program).replace(/\.exe$/i, '')
  const shown = shownArguments(args)
  const [first = ''] = args
  const connection = {
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  }
  return await runAsOneChange(
    {
      ...{ program, args, argsWithout: args, connection, service, isUnknown: true },
      whyNotTraced: tokenTrouble(service, args, options.env),
      ...{ command: COMMAND_WORD.test(first) ? `${service} ${first}` : service, shown: [service, ...shown] },
    },
    options,
  )
}

/** Through the proxy it would be somebody else who writes: whom the kubeconfig names. */
function tokenTrouble(
  service: string,
  args: readonly string[],
  env: ChangeOptions['env'],
): string | undefined {
  const { option = '', variable = '' } = TOKEN_SOURCES.get(service) ?? {}
  const isGiven = option !== '' && args.some((arg) => arg === option || arg.startsWith(`${option}=`))
  const named = isGiven ? option : variable !== '' && ownValue(env, variable) ? variable : undefined
  return named && `${named} is not sent through the proxy of causeway run; put the token into a kubeconfig`
}
