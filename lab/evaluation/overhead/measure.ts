import { loadavg } from 'node:os'
import { startBridge } from './bridge.ts'
import { measureCpu, type CpuData } from './cpu-per-reconcile.ts'
import { measurePropagation, type PropagationData } from './propagation.ts'

export interface OverheadData {
  /** How many programs wanted a core in the minute before the first and the last run. */
  loadBefore: number
  loadAfter: number
  propagation: PropagationData
  cpu: CpuData
}

interface OverheadSize {
  /** Runs with instrumentation, and as many without. */
  pairs: number
  /** Rounds of the CPU measurement. */
  rounds: number
}

export async function measureOverhead(size: OverheadSize, onRun: () => void): Promise<OverheadData> {
  const [loadBefore = Number.NaN] = loadavg()
  const propagation = await withBridge((bridge) => measurePropagation(bridge, size, onRun))
  const [loadAfter = Number.NaN] = loadavg()
  const cpu = await withBridge((bridge) => measureCpu(bridge, size.rounds, onRun))
  return { loadBefore, loadAfter, propagation, cpu }
}

/** Each measurement has a bridge that knows nothing of the other. */
async function withBridge<T>(
  measure: (bridge: Awaited<ReturnType<typeof startBridge>>) => Promise<T>,
): Promise<T> {
  await using bridge = await startBridge()
  return await measure(bridge)
}
