import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import { kubeconfigFiles } from '../../src/kube/cluster/kubeconfig.ts'
import type { Connection } from './kubectl-arguments.ts'

type Env = Readonly<Record<string, string | undefined>>

/** The kubeconfigs that the environment names for Terraform's providers, which do not read KUBECONFIG. */
function filesOfTerraform({ KUBE_CONFIG_PATH: one = '', KUBE_CONFIG_PATHS: several = '' }: Env): string[] {
  return (one === '' ? several.split(delimiter) : [one]).filter((path) => path !== '').map(resolved)
}

function resolved(path: string): string {
  return resolve(path.replace(/^~(?=[/\\]|$)/, homedir()))
}

/** Uses Terraform's kubeconfig if kubectl would find none. */
export function orThatOfTerraform(named: Connection, env: Env): Connection {
  const [file, ...more] = filesOfTerraform(env)
  const isInPod = env['KUBERNETES_SERVICE_HOST'] !== undefined
  if (named.kubeconfig !== undefined || isInPod || file === undefined || more.length > 0) return named
  if (kubeconfigFiles(env).some((path) => existsSync(path))) return named
  const { KUBE_CTX = '' } = env
  return { ...(KUBE_CTX !== '' && { context: KUBE_CTX }), ...named, kubeconfig: file }
}

/**
 * Variables that point Terraform's providers to a kubeconfig. The variable with the lowest precedence is set, so that provider blocks still
 * win. None if the providers would use another cluster than kubectl, unless the person who ran it has `named` the cluster.
 */
export function terraformVariables(
  env: Env,
  named: Pick<Connection, 'kubeconfig' | 'context'>,
  kubeconfig: { readonly path: string; readonly context: string },
): Record<string, string | undefined> {
  const { KUBE_CTX = '' } = env
  const own = filesOfTerraform(env)
  const chosen = kubeconfigFiles(env).map(resolved)
  const isTheSame = own.length === 0 || own.join(delimiter) === chosen.join(delimiter)
  const isMeant = named.kubeconfig !== undefined || isTheSame
  const isContextMeant = named.context !== undefined || KUBE_CTX === '' || KUBE_CTX === kubeconfig.context
  if (!isMeant || !isContextMeant) return {}
  return {
    KUBE_CONFIG_PATH: undefined,
    KUBE_CONFIG_PATHS: kubeconfig.path,
    ...(KUBE_CTX !== '' && KUBE_CTX !== kubeconfig.context && { KUBE_CTX: kubeconfig.context }),
  }
}
