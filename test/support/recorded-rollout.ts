import { replay, type Source } from '../../lab/harness/inference/replay.ts'
import { recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import { encodeDecisions } from '../../src/kube/inference/inferred-telemetry.ts'
import { NANOS_PER_MS } from '../../src/model/time-and-size.ts'
import { TestClock } from './test-clock.ts'
import { TestWriter } from './test-writer.ts'

interface Living {
  path?: string
  sources?: readonly Source[]
  /** One that has lived before. */
  known?: TestWriter
}

/**
 * Lives through the recording of a real cluster with a real store, which decides nothing but what it is told. Throws an
 * Error when something was not taken.
 */
export async function liveThroughRollout({
  path = ':memory:',
  sources = ['audit', 'watch'],
  known,
}: Living = {}): Promise<{ writer: TestWriter; decisions: readonly Decision[] }> {
  const observations = recordedObservations(sources)
  const startMs = Number((observations[0]?.seenNs ?? 0n) / NANOS_PER_MS)
  const writer =
    known ?? (await TestWriter.open({ linking: { settleAfterMs: 1_000 } }, path, new TestClock(startMs)))
  const { decisions } = replay(observations, sources, (some, nowNs) => {
    writer.pass(Math.max(0, Number(nowNs / NANOS_PER_MS) - writer.clock.wallMs()))
    const outcome = writer.ingest('traces', encodeDecisions(some))
    if (outcome.kind !== 'accepted' || outcome.rejected > 0)
      throw new Error(`a request was not taken whole: ${JSON.stringify(outcome)}`)
    writer.link()
  })
  writer.pass(60_000)
  return { writer, decisions }
}
