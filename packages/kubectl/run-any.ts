import { basename } from 'node:path'
import { ownValue } from '../../src/model/untrusted-names.ts'
import { COMMAND_WORD, shownArguments } from './public-arguments.ts'
import type { ProgramEnd } from './run-program.ts'
import { type ChangeOptions, runAsOneChange } from './run-as-one-change.ts'

/** Options and variables with a CA or a client certificate for the API server, which do not work with the proxy. */
interface TlsSources {
  readonly options?: readonly string[]
  readonly variables?: readonly string[]
}

const KUBECTL: TlsSources = {
  options: ['--certificate-authority', '--tls-server-name', '--client-certificate'],
}
const TERRAFORM: TlsSources = {
  variables: ['KUBE_CLUSTER_CA_CERT_DATA', 'KUBE_TLS_SERVER_NAME', 'KUBE_CLIENT_CERT_DATA'],
}
const TLS_SOURCES: ReadonlyMap<string, TlsSources> = new Map([
  [
    'helm',
    {
      options: ['--kube-ca-file', '--kube-tls-server-name'],
      variables: ['HELM_KUBECAFILE', 'HELM_KUBETLS_SERVER_NAME'],
    },
  ],
  ...['kubectl', 'oc', 'flux'].map((name) => [name, KUBECTL] as const),
  ...['terraform', 'tofu'].map((name) => [name, TERRAFORM] as const),
])

/** Where a program's kubeconfig comes from. */
interface Chosen {
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
}

/**
 * Runs any program that reads a kubeconfig, and reports its writes as one change. If reporting fails, the program runs all the same.
 * Rejects with a CliError when the program cannot be started.
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
      whyNotTraced: tlsTrouble(service, args, options.env),
      ...{ command: COMMAND_WORD.test(first) ? `${service} ${first}` : service, shown: [service, ...shown] },
    },
    options,
  )
}

/** Why a program cannot use the proxy, if one of its TLS options or variables is set. */
function tlsTrouble(service: string, args: readonly string[], env: ChangeOptions['env']): string | undefined {
  const { options = [], variables = [] } = TLS_SOURCES.get(service) ?? {}
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const given = options.find((option) => own.some((arg) => arg === option || arg.startsWith(`${option}=`)))
  const named = given ?? variables.find((variable) => ownValue(env, variable))
  return named && `${named} does not fit the proxy of causeway run; put what it says into a kubeconfig`
}
