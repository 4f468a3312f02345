import type { Agent } from 'node:https'
import { join } from 'node:path'
import { installPeers } from '../../peers/install-peers.ts'
import { CLUSTER_PEERS } from '../../peers/peer-versions.ts'
import type { Certificate } from '../certificates.ts'
import { eventually } from '../eventually.ts'
import { freePorts } from '../free-ports.ts'
import { RunningProgram } from '../processes/running-program.ts'
import { writeClusterFiles, type AuditLevel, type ClusterFiles, type Users } from './cluster-files.ts'
import { KubeApi } from './kube-api.ts'
import { clusterPrograms, type ClusterPorts, type ClusterProgram } from './cluster-programs.ts'
import { KWOK_POLICY, kwokPolicy, kwokPolicyBinding } from './kwok-policy.ts'

export interface ClusterOptions {
  /** How many nodes kwok plays; 3 unless given. */
  readonly nodes?: number
  /**
   * Users beside `admin`, who is in `system:masters`: each may do everything, and is in these groups as well. Their kubeconfigs
   * hold certificates.
   */
  readonly users?: Users
  /** How much the audit log says; with neither a level nor a webhook there is none. */
  readonly auditLevel?: AuditLevel
  /** What the audit log says, instead of a level: a policy in YAML. */
  readonly auditPolicy?: string
  /** The URL that the audit log is sent to as well, in batches. */
  readonly auditWebhook?: string
  /** Where the API server sends its spans by OTLP/gRPC: `127.0.0.1:4317`. */
  readonly tracing?: string
  /** Further options of the API server. */
  readonly apiServerFlags?: readonly string[]
  /** What kubelets take to begin and to end a Pod, from and to; no time unless given. */
  readonly kubeletDelayMs?: readonly [number, number]
  /** Ends what is under way: building, starting, kubectl. */
  readonly signal?: AbortSignal
}

const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const LONGEST_STEP_MS = 180_000
const LONGEST_STOP_MS = 5_000
/** Whoever is in it may do everything, but is not taken for the cluster's own as `system:masters` is. */
const TESTERS = 'testers'
const OWN_USERS: Users = {
  admin: ['system:masters'],
  kwok: [TESTERS],
  'system:kube-controller-manager': [],
  'system:kube-scheduler': [],
}

/** What the cluster does without for a while. */
export type StoppableProgram = 'kube-controller-manager' | 'kube-scheduler'

interface NodeList {
  items: { status: { conditions?: { type: string; status: string }[] } }[]
}

/**
 * A real Kubernetes control plane on this machine, with kwok in the place of kubelets; everything of it is in one directory, on
 * free ports of 127.0.0.1. Disposing ends its programs, the last first.
 */
export class Cluster implements AsyncDisposable {
  readonly #files: ClusterFiles
  readonly #ports: ClusterPorts
  readonly #paths: Readonly<Record<ClusterProgram, string>>
  readonly #programs: RunningProgram[] = []
  readonly #signal: AbortSignal | undefined
  #apiServer: RunningProgram | undefined
  #apiServerArgs: readonly string[] = []
  #argsOf: Partial<Record<StoppableProgram, readonly string[]>> = {}

  private constructor(
    files: ClusterFiles,
    ports: ClusterPorts,
    paths: Record<ClusterProgram, string>,
    signal: AbortSignal | undefined,
  ) {
    this.#signal = signal
    this.#files = files
    this.#ports = ports
    this.#paths = paths
  }

  /** Builds the programs where they are not built yet, and starts them; resolves once every node is ready. */
  static async start(directory: string, options: ClusterOptions = {}): Promise<Cluster> {
    const paths = await installPeers(CLUSTER_PEERS, undefined, options.signal)
    const [api = 0, etcd = 0, etcdPeer = 0, controllers = 0, scheduler = 0, kwok = 0] = await freePorts(6)
    const ports = { api, etcd, etcdPeer, controllers, scheduler, kwok }
    const others = Object.entries(options.users ?? {}).map(([user, groups]) => [user, [...groups, TESTERS]])
    const users: Users = { ...OWN_USERS, ...(Object.fromEntries(others) as Users) }
    const { auditLevel = 'RequestResponse', auditPolicy, auditWebhook, tracing } = options
    const files = writeClusterFiles(directory, api, users, {
      ...{ auditLevel, auditPolicy, auditWebhook, tracing },
      certified: Object.keys(options.users ?? {}),
      kubeletDelayMs: options.kubeletDelayMs,
    })
    const cluster = new Cluster(files, ports, paths, options.signal)
    try {
      await cluster.#start(directory, options)
    } catch (error) {
      const words = cluster.#programs.map((program) => program.lastWords()).join('\n')
      await cluster[Symbol.asyncDispose]()
      options.signal?.throwIfAborted()
      throw new Error(`the cluster did not start:\n${words}`, { cause: error })
    }
    return cluster
  }

  /**
   * The API as a user sees it; as `admin` unless given. Every request has a connection of its own, unless an agent keeps them, and
   * names no program, unless one is given.
   */
  api(user = 'admin', agent: Agent | false = false, userAgent?: string): KubeApi {
    const token = this.#files.tokens.get(user)
    if (token === undefined) throw new Error(`the cluster has no user ${user}`)
    return new KubeApi(this.#ports.api, this.#files.authority.cert, token, agent, userAgent)
  }

  /** Where programs find the cluster, and who they are then. */
  kubeconfig(user = 'admin'): string {
    return this.#files.kubeconfig(user)
  }

  /** Runs kubectl as a user, and gives what it printed; rejects with its complaint. */
  async kubectl(user: string, ...args: string[]): Promise<string> {
    const command = this.#paths.kubectl
    const all = [
      '--kubeconfig',
      this.kubeconfig(user),
      '--cache-dir',
      this.#files.path('kubectl-cache'),
      ...args,
    ]
    await using program = new RunningProgram({ name: 'kubectl', command, args: all })
    const kill = (): void => void program.kill()
    this.#signal?.addEventListener('abort', kill)
    try {
      return await program.output()
    } finally {
      this.#signal?.removeEventListener('abort', kill)
    }
  }

  /** Makes a service account that may do nothing yet. */
  async makeAccount(namespace: string, name: string): Promise<void> {
    await this.api().create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } })
  }

  /** A service account that is there: the API as it sees it, and its kubeconfig. */
  async account(namespace: string, name: string): Promise<{ api: KubeApi; kubeconfig: string }> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
    const { status } = await this.api().create<{ status: { token: string } }>(path, {})
    const user = `${namespace}:${name}`
    this.#files.writeKubeconfig(user, { token: status.token })
    const api = new KubeApi(this.#ports.api, this.#files.authority.cert, status.token)
    return { api, kubeconfig: this.kubeconfig(user) }
  }

  /** Where one of its programs is, kubectl for instance. */
  program(name: ClusterProgram): string {
    return this.#paths[name]
  }

  /** A certificate of the authority that the cluster's own are of, for a server on this machine. */
  certificate(name: string): Certificate & { ca: string } {
    const { authority } = this.#files
    return { ...authority.issue({ name }), ca: authority.cert }
  }

  /** Kills the API server and starts it again on what etcd has; resolves once it answers. */
  async restartApiServer(): Promise<void> {
    await this.#apiServer?.kill()
    if (this.#apiServer !== undefined) this.#programs.splice(this.#programs.indexOf(this.#apiServer), 1)
    this.#apiServer = this.#run('kube-apiserver', this.#apiServerArgs)
    await this.#until(() => this.api().get('/readyz'))
  }

  /** Kills a program; what it gives starts that again. */
  async kill(name: StoppableProgram): Promise<() => void> {
    const at = this.#programs.findIndex((one) => one.name === name)
    const [program] = this.#programs.splice(at, 1)
    await program?.kill()
    return () => void this.#run(name, this.#argsOf[name] ?? [])
  }

  /** Has etcd forget every version before the newest, so that no watch can go on from one. */
  async compact(): Promise<void> {
    const ask = async (path: string, body: object): Promise<unknown> => {
      const url = `http://127.0.0.1:${this.#ports.etcd}/v3/kv/${path}`
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
      if (!response.ok) throw new Error(`etcd answers ${response.status} to ${path}`)
      return response.json()
    }
    const { header } = (await ask('range', { key: 'AA==' })) as { header: { revision: string } }
    await ask('compaction', { revision: header.revision, physical: true })
  }

  /** The process that the API server is. */
  get apiServerPid(): number {
    if (this.#apiServer === undefined) throw new Error('the API server was not started')
    return this.#apiServer.pid
  }

  /** The file with an audit event in each line. */
  get auditLog(): string {
    return this.#files.path('audit.log')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.toReversed()) await program.stop(LONGEST_STOP_MS)
  }

  async #start(directory: string, options: ClusterOptions): Promise<void> {
    const programs = clusterPrograms(this.#files, this.#ports, {
      data: join(directory, 'etcd'),
      hasAudit: [options.auditLevel, options.auditPolicy, options.auditWebhook].some(
        (one) => one !== undefined,
      ),
      hasAuditWebhook: options.auditWebhook !== undefined,
      hasTracing: options.tracing !== undefined,
      apiServerFlags: options.apiServerFlags ?? [],
    })
    this.#run('etcd', programs.etcd)
    await this.#until(async () => {
      const { ok } = await fetch(`http://127.0.0.1:${this.#ports.etcd}/health`)
      if (!ok) throw new Error('etcd is not healthy')
    })
    this.#apiServerArgs = programs['kube-apiserver']
    this.#apiServer = this.#run('kube-apiserver', this.#apiServerArgs)
    const api = this.api()
    await this.#until(() => api.get('/readyz'))
    await api.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: TESTERS },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: TESTERS }],
    })
    await api.create(`${ADMISSION}/validatingadmissionpolicies`, kwokPolicy)
    await api.create(`${ADMISSION}/validatingadmissionpolicybindings`, kwokPolicyBinding)
    this.#argsOf = programs
    this.#run('kube-controller-manager', programs['kube-controller-manager'])
    this.#run('kube-scheduler', programs['kube-scheduler'])
    this.#run('kwok', programs.kwok)
    const { nodes = 3 } = options
    for (let node = 1; node <= nodes; node++) await api.create('/api/v1/nodes', nodeNamed(`node-${node}`))
    await this.#until(async () => {
      const { items } = await api.get<NodeList>('/api/v1/nodes')
      const ready = items.filter(({ status: { conditions = [] } }) =>
        conditions.some(({ type, status }) => type === 'Ready' && status === 'True'),
      )
      if (ready.length < nodes) throw new Error(`${ready.length} of ${nodes} nodes are ready`)
    })
    // The controller manager says so once it has checked the expressions; nobody is to see that write.
    await this.#until(async () => {
      const path = `${ADMISSION}/validatingadmissionpolicies/${KWOK_POLICY}`
      const { status } = await api.get<{ status?: { observedGeneration?: number } }>(path)
      if (status?.observedGeneration === undefined) throw new Error(`${KWOK_POLICY} is not checked`)
    })
    // Pods need it, and the controller manager makes it when it has come so far.
    await this.#until(() => api.get('/api/v1/namespaces/default/serviceaccounts/default'))
  }

  #run(name: ClusterProgram, args: readonly string[]): RunningProgram {
    const env = Object.entries(process.env).filter(([variable]) => !variable.startsWith('OTEL_'))
    const command = this.#paths[name]
    const program = new RunningProgram({ name, command, args, env: Object.fromEntries(env) })
    this.#programs.push(program)
    return program
  }

  async #until(check: () => Promise<unknown>): Promise<void> {
    const checkRunning = async (): Promise<void> => {
      if (!this.#programs.some(({ hasEnded }) => hasEnded)) await check()
    }
    await eventually(checkRunning, LONGEST_STEP_MS, this.#signal)
    const ended = this.#programs.find(({ hasEnded }) => hasEnded)
    if (ended !== undefined) throw new Error(`${ended.name} ended by itself`)
  }
}

function nodeNamed(name: string): object {
  const capacity = { cpu: '32', memory: '256Gi', pods: '110' }
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' }
  return { metadata: { name, labels }, status: { allocatable: capacity, capacity } }
}
