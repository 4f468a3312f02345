import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { OWN_CAUSEWAY, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { Cluster } from '../../harness/kubernetes/cluster.ts'
import { operatorFolder } from '../../harness/kubernetes/operator-folder.ts'
import { measureKubectl, type KubectlPair } from './kubectl-cost.ts'
import { OperatorStage, type OperatorRun } from './operator-run.ts'

/** A run with the plain operator and one with the instrumented one, which take turns in going first. */
export interface OperatorPair {
  plain: OperatorRun
  traced: OperatorRun
  /** How many programs wanted a core in the minute before. */
  load: number
}

export interface OperatorData {
  /** Of the cluster. */
  kubernetes: string
  /** WebApps that are made at once in each run. */
  webApps: number
  pairs: OperatorPair[]
  /** Data without `isBuilt` is of `causeway kubectl` run from its sources. */
  kubectl: { load: number; isBuilt?: true; pairs: KubectlPair[] }
}

const WARM_UP_WEB_APPS = 10
/** No pair is begun after so long. */
const LONGEST_MS = 15 * 60_000

interface OperatorSize {
  webApps: number
  operatorPairs: number
  /** Commands of kubectl, and as many of `causeway kubectl`. */
  commands: number
}

/** The operator of examples/operator, plain and instrumented, and kubectl with and without Causeway, on a real cluster. */
export async function measureOperator(size: OperatorSize, onRun: () => void): Promise<OperatorData> {
  await using open = new AsyncDisposableStack()
  const { path: directory } = open.use(freshDirectory(tmpdir()))
  const causewayDirectory = open.use(freshDirectory(tmpdir()))
  const causeway = await startMeasuredCauseway(OWN_CAUSEWAY, causewayDirectory.path)
  open.defer(() => causeway.stop())
  const cluster = open.use(await Cluster.start(join(directory, 'cluster')))
  const endpoint = `http://${causeway.httpEndpoint}`
  const version = await cluster.api().get<{ gitVersion: string }>('/version')
  const kubectlPairs = await measureKubectl({ cluster, endpoint, directory, commands: size.commands })
  const kubectl = { load: load(), isBuilt: true as const, pairs: kubectlPairs }
  onRun()
  const folder = await operatorFolder(directory)
  const stage = await OperatorStage.open({ cluster, folder, endpoint })
  for (const isTraced of [false, true]) await stage.run(isTraced, Math.min(WARM_UP_WEB_APPS, size.webApps))
  onRun()
  const pairs: OperatorPair[] = []
  const beganMs = performance.now()
  while (pairs.length < size.operatorPairs && performance.now() - beganMs < LONGEST_MS) {
    const before = load()
    const isTracedFirst = pairs.length % 2 === 0
    const first = await stage.run(isTracedFirst, size.webApps)
    onRun()
    const second = await stage.run(!isTracedFirst, size.webApps)
    onRun()
    const [traced, plain] = isTracedFirst ? [first, second] : [second, first]
    pairs.push({ plain, traced, load: before })
  }
  return { kubernetes: version.gitVersion, webApps: size.webApps, pairs, kubectl }
}

function load(): number {
  return loadavg()[0] ?? Number.NaN
}
