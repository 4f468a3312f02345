import { expect } from '@jest/globals'
import type { Causeway } from './causeway.ts'
import type { Scene } from './scene.ts'

interface Expected {
  /** How many traces of changes there are; all must have settled. */
  readonly settled?: number
  /** How many spans belong to no change. */
  readonly unattributed?: number
}

/** Waits until Causeway has decided all that is to come and this exporter has delivered it. */
export async function untilDelivered(
  scene: Scene,
  causeway: Causeway,
  exporter: string,
  expected: Expected,
): Promise<void> {
  await scene.eventually(async () => {
    const metrics = await causeway.metrics()
    expect({
      settled: metrics.sum('cpid_traces_settled'),
      unattributed: metrics.sum('cpid_unattributed_spans'),
      unsent: metrics.sum('otelcol_exporter_queue_size', { exporter }),
    }).toMatchObject({ ...expected, unsent: 0 })
  }, 90_000)
}
