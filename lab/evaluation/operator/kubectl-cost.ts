import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BIN } from '../../harness/causeway/causeway-process.ts'
import type { Cluster } from '../../harness/kubernetes/cluster.ts'

/** How long a command takes, and how much of processors, in milliseconds. */
interface CommandCost {
  ms: number
  /** In hundredths of a second. */
  cpuMs: number
}

/** `kubectl apply` of one changed Deployment, and the same as `causeway kubectl -- apply`. */
export interface KubectlPair {
  kubectl: CommandCost
  causeway: CommandCost
}

interface KubectlSettings {
  cluster: Cluster
  /** Of a Causeway that is told. */
  endpoint: string
  /** For files. */
  directory: string
  commands: number
}

const WARM_UP = 2
/** What is installed is built. */
const BUILD = fileURLToPath(new URL('../../../scripts/build-dashboard.ts', import.meta.url))
/** The last line says what was used by what the shell started. */
const SAY_TIMES = '"$@" && times'

/** One after the other in turn, each a change of its own; all with a kubeconfig as programs write it, on a warm cache of kubectl. */
export async function measureKubectl(settings: KubectlSettings): Promise<KubectlPair[]> {
  const { cluster, endpoint, directory, commands } = settings
  const { status: isNotBuilt } = spawnSync(process.execPath, ['--no-warnings', BUILD, '--if-stale'])
  if (isNotBuilt !== 0) throw new Error('it could not be built; npm run build says why')
  const kubectl = cluster.program('kubectl')
  const kubeconfig = join(directory, 'kubeconfig.yaml')
  const manifest = join(directory, 'deployment.json')
  writeFileSync(kubeconfig, await cluster.kubectl('admin', 'config', 'view', '--raw', '--flatten'))
  const env = {
    ...process.env,
    HOME: directory,
    KUBECONFIG: kubeconfig,
    PATH: [dirname(kubectl), process.env['PATH'] ?? ''].join(delimiter),
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  }
  const apply = ['apply', '--filename', manifest]
  let round = 0
  const run = (...command: string[]): CommandCost => {
    writeFileSync(manifest, JSON.stringify(deployment(++round)))
    const startedMs = performance.now()
    const { status, stdout, stderr } = spawnSync('sh', ['-c', SAY_TIMES, 'sh', ...command], {
      env,
      encoding: 'utf8',
    })
    const ms = performance.now() - startedMs
    if (status !== 0 || stderr !== '') throw new Error(`${command.join(' ')} ended with ${status}: ${stderr}`)
    const seconds = [...(stdout.trim().split('\n').at(-1) ?? '').matchAll(/([\d.]+)s/g)].map(([, text]) =>
      Number(text),
    )
    return { ms, cpuMs: 1_000 * seconds.reduce((sum, one) => sum + one, 0) }
  }
  const pairs: KubectlPair[] = []
  for (let pair = -WARM_UP; pair < commands; pair++) {
    const alone = run(kubectl, ...apply)
    const causeway = run(process.execPath, BIN, 'kubectl', '--', ...apply)
    if (pair >= 0) pairs.push({ kubectl: alone, causeway })
  }
  return pairs
}

/** Without Pods: nothing is to come of it but what kubectl waits for. */
function deployment(round: number): object {
  const labels = { app: 'measured' }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'measured', namespace: 'kube-public', annotations: { round: String(round) } },
    spec: {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'nginx:1' }] } },
    },
  }
}
