import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from '@jest/globals'
import { BIN } from '../../../../lab/harness/causeway/causeway-process.ts'
import { Cluster, type ClusterOptions } from '../../../../lab/harness/kubernetes/cluster.ts'
import type { KubeApi } from '../../../../lab/harness/kubernetes/kube-api.ts'
import { RunningProgram } from '../../../../lab/harness/processes/running-program.ts'
import { operatorFolder } from '../../../../lab/harness/kubernetes/operator-folder.ts'
import type { Scene } from '../../support/scene.ts'

export const WEB_APPS = '/apis/example.com/v1/namespaces/default/webapps'
export const TENANTS = '/apis/example.com/v1/namespaces/default/tenants'
export const DEPLOYMENT = '/apis/apps/v1/namespaces/default/deployments/web'
const LONGEST_MS = 90_000
const GO = fileURLToPath(new URL('../../../../go/', import.meta.url))

export interface Kept {
  metadata: { uid: string; resourceVersion: string; annotations?: Record<string, string> }
  spec: { replicas: number }
  status?: { observedGeneration?: number; readyReplicas?: number }
}

export const webApp = (replicas: number) => ({
  apiVersion: 'example.com/v1',
  kind: 'WebApp',
  metadata: { name: 'web' },
  spec: { image: 'nginx:1', replicas },
})

export const cpidOf = ({ metadata }: Kept): string => metadata.annotations?.['causeway.io/cpid'] ?? 'none'

/** A real cluster with the sample operators' resource, and the operators, which send to an OTLP/HTTP endpoint. */
export class OperatorStage {
  readonly cluster: Cluster
  readonly #scene: Scene
  /** Where the operators are. */
  readonly folder: string
  readonly #endpoint: string

  private constructor(scene: Scene, cluster: Cluster, folder: string, endpoint: string) {
    this.#scene = scene
    this.cluster = cluster
    this.folder = folder
    this.#endpoint = endpoint
  }

  static async set(
    scene: Scene,
    endpoint: string,
    { client, ...options }: ClusterOptions & { readonly client?: string } = {},
  ): Promise<OperatorStage> {
    const cluster = scene.use(await Cluster.start(join(scene.directory, 'cluster'), options))
    const folder = await operatorFolder(scene.directory, 'operator', client)
    for (const kind of ['web-app', 'tenant'])
      await cluster.kubectl('admin', 'apply', '--filename', join(folder, `${kind}.yaml`))
    const stage = new OperatorStage(scene, cluster, folder, endpoint)
    for (const path of [WEB_APPS, TENANTS]) await scene.eventually(() => stage.api.get(path))
    return stage
  }

  get api(): KubeApi {
    return this.cluster.api()
  }

  /** Runs an operator as whoever the kubeconfig names, `admin` unless given. */
  start(operator = 'web-app', env: NodeJS.ProcessEnv = {}): RunningProgram {
    return this.#run(operator, env, process.execPath, join(this.folder, `${operator}-instrumented.ts`))
  }

  /** Runs an operator as JavaScript with the Node that this machine has, which may be older. */
  async startCompiled(operator: string): Promise<RunningProgram> {
    const options = ['--noEmit', 'false', '--rewriteRelativeImportExtensions', '--outDir', 'compiled']
    const tsc = join(this.folder, 'node_modules/typescript/bin/tsc')
    await promisify(execFile)(process.execPath, [tsc, '--project', this.folder, ...options], {
      cwd: this.folder,
    })
    return this.#run(operator, {}, 'node', join(this.folder, `compiled/${operator}-instrumented.js`))
  }

  /** Builds and runs an operator in Go, which does the same: that of WebApps unless given. */
  async startGo(
    operator: 'webapp' | 'tenant' = 'webapp',
    env: NodeJS.ProcessEnv = {},
  ): Promise<RunningProgram> {
    const name = `${operator}-in-go`
    const program = join(this.#scene.directory, name)
    const built = { cwd: GO, env: { ...process.env, GOWORK: 'off' } }
    await promisify(execFile)('go', ['build', '-o', program, `./examples/${operator}/cmd`], built)
    return this.#run(name, env, program)
  }

  #run(operator: string, env: NodeJS.ProcessEnv, command: string, file?: string): RunningProgram {
    return this.#scene.use(
      new RunningProgram({
        name: operator,
        command,
        args: file === undefined ? [] : ['--no-warnings', file],
        directory: this.folder,
        env: {
          ...process.env,
          KUBECONFIG: this.cluster.kubeconfig(),
          OTEL_EXPORTER_OTLP_ENDPOINT: this.#endpoint,
          OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=test',
          OTEL_BSP_SCHEDULE_DELAY: '100',
          OTEL_BLRP_SCHEDULE_DELAY: '100',
          OTEL_METRICS_EXPORTER: 'none',
          ...env,
        },
      }),
    )
  }

  /** Waits until the WebApp says that so many replicas are ready of what was last asked for. */
  ready(replicas: number) {
    return this.#scene.eventually(async () => {
      const app = await this.api.get<Kept & { metadata: { generation: number } }>(`${WEB_APPS}/web`)
      const { observedGeneration, readyReplicas } = app.status ?? {}
      expect([observedGeneration, readyReplicas]).toEqual([app.metadata.generation, replicas])
      return app
    }, LONGEST_MS)
  }

  /** `kubectl apply` of an object, as a user. */
  async apply(user: string, object: object): Promise<void> {
    const path = join(this.#scene.directory, 'applied.json')
    await writeFile(path, JSON.stringify(object))
    await this.cluster.kubectl(user, 'apply', '--filename', path)
  }

  /** `causeway kubectl` as `admin`, with the reason by which its change is found. */
  async announced(reason: string, ...args: string[]): Promise<void> {
    const env = {
      ...process.env,
      PATH: [dirname(this.cluster.program('kubectl')), process.env['PATH'] ?? ''].join(delimiter),
      KUBECONFIG: this.cluster.kubeconfig(),
      KUBECACHEDIR: join(this.#scene.directory, 'kubectl-cache'),
      TMPDIR: this.#scene.directory,
    }
    await using program = new RunningProgram({
      name: 'causeway kubectl',
      command: process.execPath,
      args: [
        ...[BIN, 'kubectl', '--endpoint', this.#endpoint, '--cluster', 'test', '--reason', reason],
        ...['--', ...args],
      ],
      env,
    })
    expect(await program.ending(LONGEST_MS)).toMatchObject({ code: 0 })
  }
}
