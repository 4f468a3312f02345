import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openForReading } from '../../../src/store/sqlite/open-database.ts'
import { type MeasuredCauseway, startMeasuredCauseway } from '../../harness/causeway/measured-causeway.ts'
import { freshDirectory } from '../../harness/fresh-directory.ts'
import { HelperProcess } from '../load/helper-process.ts'
import { epochMs, type FromSink, type ToSink } from '../load/messages.ts'
import { percentile, type SectionResult } from '../measure/figures.ts'
import { usageOf, watchCpu } from '../measure/process-usage.ts'
import type { Options } from '../options.ts'
import { WRITES_OF_APP } from './app-writes.ts'
import type { FromCluster, ToCluster } from './cluster-messages.ts'

const PODS = 150_000
const APPS = 4_000
/** What some hundred writes a second come to in a cluster of 5,000 nodes. */
const USUAL = { perSecond: 300, apps: 450 }
const LONGEST_MS = 300_000
const LOOK_AGAIN_MS = 20
const MILLION = 1e6

/** What is seen of a cluster of 150,000 Pods by a watch, until it is at the backend. */
export async function benchKubernetes(options: Options, onRound: () => void): Promise<SectionResult> {
  const rounds: Record<string, number>[] = []
  for (let round = 0; round < options.rounds; round++) {
    rounds.push(await kubernetesRound(options))
    onRound()
  }
  return {
    name: 'kubernetes',
    about:
      `${PODS.toLocaleString('en-US')} Pods listed; then ${USUAL.apps * WRITES_OF_APP} writes at ${USUAL.perSecond} a second, ` +
      `${APPS * WRITES_OF_APP} as fast as they are read, and those at ${USUAL.perSecond} a second once more; a watch alone tells of them`,
    figures: {
      startSeconds: { label: 'until all Pods are known', unit: 's', digits: 1 },
      listedMib: { label: 'memory then', unit: 'MiB', digits: 0, target: { atMost: 400 } },
      writesPerSecond: {
        label: 'writes inferred, linked and sent on',
        unit: 'writes/s',
        digits: 0,
        target: { atLeast: 5_000 },
      },
      cpuPerMillion: { label: 'Causeway CPU', unit: 's/million writes', digits: 0 },
      peakMib: { label: 'memory, highest', unit: 'MiB', digits: 0, target: { atMost: 400 } },
      medianSeconds: { label: 'from a write to its span in SQL, median', unit: 's', digits: 2 },
      p99Seconds: { label: '99 % within', unit: 's', digits: 2, target: { atMost: 3 } },
      afterSeconds: { label: 'the same within a minute of the fast ones, 99 % within', unit: 's', digits: 2 },
    },
    rounds,
  }
}

async function kubernetesRound(options: Options): Promise<Record<string, number>> {
  using directory = freshDirectory(options.directory)
  using sink = new HelperProcess<ToSink, FromSink>('sink.ts')
  const { port } = await sink.hear('ready')
  using cluster = new HelperProcess<ToCluster, FromCluster>('served-cluster.ts', import.meta.url)
  const { port: api } = await cluster.hear('ready')
  cluster.tell({ kind: 'stand', pods: PODS })
  const startedMs = epochMs()
  const causeway = await startMeasuredCauseway(options, directory.path, port, [
    `receivers.k8s_objects={cluster: bench, auth_type: kubeConfig, kubeconfig: ${kubeconfigIn(directory.path, api)}}`,
    'service.pipelines.traces/in.receivers=[otlp, k8s_objects]',
    'connectors.cpid.retention.max_bytes=0',
  ])
  try {
    await until(causeway, 'SELECT count(*) FROM k8s_objects', PODS)
    await until(causeway, 'SELECT count(*) = 0 FROM k8s_tellings', 1)
    const listedMs = epochMs()
    const listed = usageOf(causeway.pid)
    const latencies = await latenciesOf(causeway, cluster)
    const cpuUsed = watchCpu(causeway.pid)
    const fast = await written(cluster, { kind: 'write', apps: APPS })
    await until(causeway, NEWEST, fast.version)
    await untilSent(causeway, sink)
    const doneMs = epochMs()
    const cpu = cpuUsed()
    const after = await latenciesOf(causeway, cluster)
    return {
      startSeconds: (listedMs - startedMs) / 1_000,
      listedMib: listed?.rssMib ?? Number.NaN,
      writesPerSecond: fast.writes / ((doneMs - fast.startedMs) / 1_000),
      cpuPerMillion: (cpu.seconds / fast.writes) * MILLION,
      peakMib: usageOf(causeway.pid)?.peakRssMib ?? Number.NaN,
      medianSeconds: percentile(latencies, 0.5) / 1_000,
      p99Seconds: percentile(latencies, 0.99) / 1_000,
      afterSeconds: percentile(after, 0.99) / 1_000,
    }
  } finally {
    await causeway.stop()
  }
}

const NEWEST = 'SELECT max(version) FROM span_objects WHERE role = 1'

function kubeconfigIn(directory: string, port: number): string {
  const path = join(directory, 'kubeconfig')
  const cluster = { name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }
  const context = { name: 'x', context: { cluster: 'c', user: '' } }
  writeFileSync(path, JSON.stringify({ 'current-context': 'x', clusters: [cluster], contexts: [context] }))
  return path
}

type Written = Extract<FromCluster, { kind: 'written' }>

function written(cluster: HelperProcess<ToCluster, FromCluster>, order: ToCluster): Promise<Written> {
  cluster.tell(order)
  return cluster.hear('written', LONGEST_MS)
}

/** Of each version that is remembered, how long after its write the first look saw it; in order of size. */
async function latenciesOf(
  { path }: MeasuredCauseway,
  cluster: HelperProcess<ToCluster, FromCluster>,
): Promise<number[]> {
  const db = openForReading(path)
  try {
    const newest = db.prepare<[], number>(NEWEST).pluck()
    const looks: [version: number, ms: number][] = []
    const look = (): number => {
      const version = newest.get() ?? 0
      looks.push([version, epochMs()])
      return version
    }
    let done: Written | undefined
    const writing = written(cluster, { kind: 'write', ...USUAL }).then((all) => (done = all))
    const deadlineMs = epochMs() + LONGEST_MS
    while (done === undefined || look() < done.version) {
      if (epochMs() > deadlineMs) throw new Error('not every write was stored')
      if (done === undefined) look()
      await sleep(LOOK_AGAIN_MS)
    }
    const { writtenMs } = await writing
    return writtenMs
      .map(([version, ms]) => (looks.find(([seen]) => seen >= version)?.[1] ?? Number.NaN) - ms)
      .sort((one, other) => one - other)
  } finally {
    db.close()
  }
}

async function until({ path }: MeasuredCauseway, sql: string, least: number): Promise<void> {
  const deadlineMs = epochMs() + LONGEST_MS
  for (;;) {
    const db = openForReading(path)
    try {
      if ((db.prepare<[], number>(sql).pluck().get() ?? 0) >= least) return
    } finally {
      db.close()
    }
    if (epochMs() > deadlineMs) throw new Error(`not after ${LONGEST_MS / 1_000} s: ${sql} ≥ ${least}`)
    await sleep(LOOK_AGAIN_MS)
  }
}

/** Until everything is linked, and the backend has all that was decided. */
async function untilSent(causeway: MeasuredCauseway, sink: HelperProcess<ToSink, FromSink>): Promise<void> {
  await until(causeway, 'SELECT linked_arrival = last_arrival FROM progress', 1)
  await until(causeway, 'SELECT e.position >= p.last_decision FROM exporters e, progress p', 1)
  sink.tell({ kind: 'count' })
  await sink.hear('counted')
}
