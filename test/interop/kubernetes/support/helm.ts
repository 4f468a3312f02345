import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { installPeers } from '../../../../lab/peers/install-peers.ts'
import { peerVersions } from '../../../../lab/peers/peer-versions.ts'

export const CHART = fileURLToPath(new URL('../../../../deploy/helm/causeway/', import.meta.url))
/** What users may say, each in a file of the chart. */
export const SAID = readdirSync(join(CHART, 'ci'), 'utf8').map((name) => name.replace('-values.yaml', ''))

interface Rule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
}

interface Meta {
  name: string
  namespace?: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

/** What the tests look at of what the chart makes. */
export interface Rendered {
  apiVersion: string
  kind: string
  metadata: Meta
  data?: Record<string, string>
  rules?: Rule[]
  subjects?: object[]
  spec?: {
    ports?: { name: string; port: number }[]
    ingress?: object[]
    volumeClaimTemplates?: { spec: { storageClassName?: unknown } }[]
  }
  webhooks?: { clientConfig: { caBundle?: string }; rules: object; matchConditions: object }[]
}

export const valuesOf = (said: string): string => join(CHART, 'ci', `${said}-values.yaml`)

/** The real helm, with nothing of the machine's own; rejects with its complaint. */
export class Helm {
  readonly #path: string
  readonly #env: NodeJS.ProcessEnv

  private constructor(path: string, directory: string, kubeconfig: string) {
    this.#path = path
    this.#env = {
      PATH: process.env['PATH'],
      // What it asked the API server is kept below it.
      HOME: directory,
      KUBECONFIG: kubeconfig,
      HELM_CACHE_HOME: join(directory, 'helm-cache'),
      HELM_CONFIG_HOME: join(directory, 'helm-config'),
      HELM_DATA_HOME: join(directory, 'helm-data'),
    }
  }

  static async open(directory: string, kubeconfig = join(directory, 'none')): Promise<Helm> {
    const { helm } = await installPeers(['helm'])
    return new Helm(helm, directory, kubeconfig)
  }

  async run(...args: string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(this.#path, args, { env: this.#env, maxBuffer: 2 ** 24 })
    return stdout
  }

  /** What the chart makes of these arguments; a helm that was not stamped takes Kubernetes for an old one. */
  async rendered(...args: string[]): Promise<Rendered[]> {
    const about = ['causeway', CHART, '--namespace', 'causeway', '--kube-version', peerVersions.kubectl]
    return objectsIn(await this.run('template', ...about, ...args))
  }
}

/** Kubernetes reads YAML 1.1. */
export function objectsIn(manifest: string, version: '1.1' | '1.2' = '1.2'): Rendered[] {
  return parseAllDocuments(manifest, { version })
    .map((document) => {
      if (document.errors.length > 0) throw new AggregateError(document.errors, 'no YAML')
      return document.toJS() as Rendered | null
    })
    .filter((object) => object !== null)
}

export function ofKind(objects: readonly Rendered[], kind: string): Rendered[] {
  return objects.filter((object) => object.kind === kind)
}

/** The configuration that Causeway is given. */
export function configIn(objects: readonly Rendered[]): string {
  const [map] = ofKind(objects, 'ConfigMap')
  return map?.data?.['otel-config.yaml'] ?? ''
}

/** What rules allow, one line for each. */
export function allowed(rules: readonly Rule[] = []): string[] {
  return rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => `${verb} ${group}/${resource}`)),
      ),
    )
    .sort()
}
