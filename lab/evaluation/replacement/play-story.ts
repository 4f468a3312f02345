import { trace } from '@opentelemetry/api'
import {
  withTraceContext,
  type Instrumentation,
  type InstrumentationSettings,
  type KubernetesObject,
  type TraceContext,
} from 'causeway-instrumentation'
import { Chance } from '../../../packages/control-plane/chance.ts'
import { asComponent } from '../../../packages/control-plane/telemetry/components.ts'
import { ProcessTelemetry } from '../../../packages/control-plane/telemetry/process-telemetry.ts'
import { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { VirtualClock } from '../../../packages/control-plane/virtual-clock.ts'

/** One piece of work, a second after the one before. */
export interface Step {
  /** The objects it reads, in this order; none when a change begins. */
  reads: readonly string[]
  /** The object that then carries the outcome. */
  writes: string
}

const STEP_MS = 1_000

/** Plays work on nothing but annotated objects, one span each. */
export async function playStory(
  steps: readonly Step[],
  instrument: (settings: InstrumentationSettings) => Instrumentation,
): Promise<Recorder> {
  const clock = new VirtualClock()
  const chance = new Chance(1)
  const recorder = new Recorder()
  const cpids = chance.fork('CPIDs')
  await using open = new AsyncDisposableStack()
  open.use(
    new ProcessTelemetry({
      clock,
      chance: chance.fork('telemetry'),
      cluster: 'virtual',
      spanProcessor: () => recorder.spanProcessor(),
      logRecordProcessor: () => recorder.logRecordProcessor(),
    }),
  )
  const instrumentation = instrument({ newCpid: () => cpids.uuid(), nowMs: () => clock.nowMs() })
  const objects = new Map<string, KubernetesObject>()
  const play = async () => {
    for (const step of steps) {
      await clock.sleep(STEP_MS)
      asComponent('controller', () => work(step, objects, instrumentation))
    }
  }
  await clock.run(play())
  return recorder
}

function work(
  { reads, writes }: Step,
  objects: Map<string, KubernetesObject>,
  { newRoot, merge, extractFromObject, injectIntoObject }: Instrumentation,
): void {
  const read = reads.map((name) => extractFromObject(objects.get(name)))
  const change: TraceContext = reads.length === 0 ? newRoot() : merge(read)
  withTraceContext(change, () => {
    trace.getTracer('story').startSpan(`work on ${writes}`).end()
    objects.set(writes, injectIntoObject(change, objects.get(writes) ?? { metadata: { name: writes } }))
  })
}
