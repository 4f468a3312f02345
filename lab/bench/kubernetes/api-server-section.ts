import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorText } from '../../../src/model/faults.ts'
import { openForReading } from '../../../src/store/sqlite/open-database.ts'
import { type MeasuredCauseway, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freePort } from '../../harness/free-ports.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { installPeers } from '../../peers/install-peers.ts'
import { CLUSTER_PEERS } from '../../peers/peer-versions.ts'
import { epochMs } from '../load/messages.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import { watchCpu } from '../measure/process-usage.ts'
import type { Options } from '../options.ts'
import { ADMITTED, type Patched, PLAIN, RealCluster } from './real-cluster.ts'

const NAME = 'kubernetes-api-server'
const PER_SECOND = 25
const LATENCY_SECONDS = 20
const CPU_SECONDS = 20
const CPU_TURNS = 2
const ADMISSIONS = 500
const LONGEST_MS = 60_000
const LOOK_AGAIN_MS = 20
const PERCENT = 100

/** What watching costs the API server of a real control plane, and how soon its writes are in SQL. */
export async function benchApiServer(options: Options, onRound: () => void): Promise<SectionResult> {
  const missing = await whyNotBuilt()
  if (missing !== undefined) return { name: NAME, about: `not run: ${missing}`, figures: {}, rounds: [] }
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await apiServerRound(options))
    onRound()
  }
  return {
    name: NAME,
    about: `a real control plane; ${PER_SECOND} patches a second, and as many writes of controllers`,
    figures: {
      auditMedian: { label: 'from a write to its span in SQL, with audit, median', unit: 's', digits: 2 },
      auditP99: { label: ' 99 % within', unit: 's', digits: 2, target: { atMost: 1 } },
      waitMedian: { label: 'the same where nobody tells who wrote, median', unit: 's', digits: 2 },
      waitP99: { label: ' 99 % within', unit: 's', digits: 2, target: { atMost: 3 } },
      plainMedian: { label: 'a patch without admission, median', unit: 'ms', digits: 2 },
      plainP99: { label: ' 99 % within', unit: 'ms', digits: 2 },
      admittedMedian: { label: 'a patch with admission, median', unit: 'ms', digits: 2 },
      admittedP99: { label: ' 99 % within', unit: 'ms', digits: 2 },
      alone: { label: 'CPU of the API server, nobody watches', unit: '% of a core', digits: 1 },
      watched: { label: 'CPU of the API server, Causeway watches', unit: '% of a core', digits: 1 },
    },
    rounds,
  }
}

async function whyNotBuilt(): Promise<string | undefined> {
  try {
    await installPeers(CLUSTER_PEERS)
    return undefined
  } catch (error) {
    return errorText(error)
  }
}

async function apiServerRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  const emptyLog = join(directory.path, 'empty.log')
  writeFileSync(emptyLog, '')
  await using real = await RealCluster.start(join(directory.path, 'cluster'))
  const watching = async (name: string, sets: readonly string[]): Promise<MeasuredCauseway> => {
    const home = join(directory.path, name)
    mkdirSync(home)
    const causeway = await startMeasuredCauseway(options, home, undefined, [
      `receivers.k8s_objects={cluster: bench, auth_type: kubeConfig, kubeconfig: ${real.cluster.kubeconfig()}}`,
      ...sets,
    ])
    await until(causeway, 'SELECT count(*) FROM k8s_objects', 10)
    return causeway
  }
  const audited = (log: string): string[] => [
    `receivers.k8s_audit={cluster: bench, log: {path: ${log}}}`,
    'service.pipelines.traces/in.receivers=[otlp, k8s_objects, k8s_audit]',
  ]
  const withAudit = await latencies(await watching('audit', audited(real.cluster.auditLog)), real)
  const withoutWord = await latencies(await watching('wait', audited(emptyLog)), real)
  const patches = await admissions(real, directory.path, watching)
  const cpu = await apiServerCpu(real, (turn) =>
    watching(`watch-${turn}`, ['service.pipelines.traces/in.receivers=[otlp, k8s_objects]']),
  )
  return {
    auditMedian: percentile(withAudit, 0.5),
    auditP99: percentile(withAudit, 0.99),
    waitMedian: percentile(withoutWord, 0.5),
    waitP99: percentile(withoutWord, 0.99),
    plainMedian: percentile(patches.plain, 0.5),
    plainP99: percentile(patches.plain, 0.99),
    admittedMedian: percentile(patches.admitted, 0.5),
    admittedP99: percentile(patches.admitted, 0.99),
    ...cpu,
  }
}

/** Seconds from the answer to each patch until a look at SQL saw its version; in order of size. */
async function latencies(causeway: MeasuredCauseway, real: RealCluster): Promise<number[]> {
  const db = openForReading(causeway.path)
  try {
    const newest = db.prepare<[], number>('SELECT max(version) FROM span_objects WHERE role = 1').pluck()
    const looks: [version: number, ms: number][] = []
    let patched: Patched[] | undefined
    const patching = real.patchFor(LATENCY_SECONDS, PER_SECOND).then((all) => (patched = all))
    const deadlineMs = epochMs() + LONGEST_MS
    const isSeen = (): boolean => (looks.at(-1)?.[0] ?? 0) >= (patched?.at(-1)?.version ?? Infinity)
    while (!isSeen()) {
      if (epochMs() > deadlineMs) throw new Error('not every write was stored')
      looks.push([newest.get() ?? 0, epochMs()])
      await sleep(LOOK_AGAIN_MS)
    }
    return (await patching)
      .map(({ version, endedMs }) => {
        const seenMs = looks.find(([seen]) => seen >= version)?.[1] ?? Number.NaN
        return (seenMs - endedMs) / 1_000
      })
      .sort((one, other) => one - other)
  } finally {
    db.close()
    await causeway.stop()
  }
}

/** Milliseconds that patches took, in turns; in order of size. */
async function admissions(
  real: RealCluster,
  directory: string,
  watching: (name: string, sets: readonly string[]) => Promise<MeasuredCauseway>,
): Promise<{ plain: number[]; admitted: number[] }> {
  const port = await freePort()
  const { cert, key } = await real.admitBy(port, directory)
  const causeway = await watching('admission', [
    `receivers.k8s_admission={cluster: bench, endpoint: "localhost:${port}", tls: {cert_file: ${cert}, key_file: ${key}}}`,
    'service.pipelines.traces/in.receivers=[otlp, k8s_objects, k8s_admission]',
  ])
  try {
    await untilAsked(causeway, real)
    const times = { plain: [] as number[], admitted: [] as number[] }
    for (let turn = 0; turn < ADMISSIONS; turn++)
      for (const [name, namespace] of [
        ['plain', PLAIN],
        ['admitted', ADMITTED],
      ] as const) {
        const { beganMs, endedMs } = await real.patch(namespace)
        times[name].push(endedMs - beganMs)
      }
    for (const of of Object.values(times)) of.sort((one, other) => one - other)
    return times
  } finally {
    await causeway.stop()
  }
}

/** Until the API server has heard of its webhook: from then on Causeway knows who writes there. */
async function untilAsked(causeway: MeasuredCauseway, real: RealCluster): Promise<void> {
  const deadlineMs = epochMs() + LONGEST_MS
  const db = openForReading(causeway.path)
  try {
    const named = db
      .prepare<[], number>("SELECT count(*) FROM audit_cascade_spans WHERE actor = 'alice'")
      .pluck()
    while ((named.get() ?? 0) === 0) {
      if (epochMs() > deadlineMs) throw new Error('the API server does not ask Causeway about writes')
      await real.patch(ADMITTED)
      await sleep(LOOK_AGAIN_MS)
    }
  } finally {
    db.close()
  }
}

async function apiServerCpu(
  real: RealCluster,
  watching: (turn: number) => Promise<MeasuredCauseway>,
): Promise<{ alone: number; watched: number }> {
  const used = { alone: 0, watched: 0 }
  const measure = async (): Promise<number> => {
    const cpu = watchCpu(real.cluster.apiServerPid)
    await real.patchFor(CPU_SECONDS, PER_SECOND)
    return ((cpu().seconds / CPU_SECONDS) * PERCENT) / CPU_TURNS
  }
  for (let turn = 0; turn < CPU_TURNS; turn++) {
    used.alone += await measure()
    const causeway = await watching(turn)
    try {
      used.watched += await measure()
    } finally {
      await causeway.stop()
    }
  }
  return used
}

async function until({ path }: MeasuredCauseway, sql: string, least: number): Promise<void> {
  const deadlineMs = epochMs() + LONGEST_MS
  const db = openForReading(path)
  try {
    const value = db.prepare<[], number>(sql).pluck()
    while ((value.get() ?? 0) < least) {
      if (epochMs() > deadlineMs) throw new Error(`not after ${LONGEST_MS / 1_000} s: ${sql} ≥ ${least}`)
      await sleep(LOOK_AGAIN_MS)
    }
  } finally {
    db.close()
  }
}
