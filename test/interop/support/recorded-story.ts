import { logs, trace } from '@opentelemetry/api'
import { createInstrumentation } from 'causeway-instrumentation'
import { Chance } from '../../../packages/control-plane/chance.ts'
import { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import { deployment, service } from '../../../packages/control-plane/manifests.ts'
import type { Written } from '../../../packages/control-plane/runtime/traced-work.ts'
import { ProcessTelemetry } from '../../../packages/control-plane/telemetry/process-telemetry.ts'
import { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { VirtualClock } from '../../../packages/control-plane/virtual-clock.ts'
import type { Story } from './run-demo.ts'

interface RecordedStory extends Story {
  readonly recorder: Recorder
}

const SEED = 1
const REPLICAS = 2
const LONGEST_STORY_MS = 60_000
const SCOPE = 'causeway-demo'

/** The story of the demo in virtual time: what its components would send is the same every time. */
export async function recordStory(): Promise<RecordedStory> {
  const clock = new VirtualClock()
  const chance = new Chance(SEED)
  const recorder = new Recorder()
  const written: Written[] = []
  await using sdks = new AsyncDisposableStack()
  sdks.use(
    new ProcessTelemetry({
      clock,
      chance: chance.fork('telemetry'),
      cluster: 'demo',
      spanProcessor: () => recorder.spanProcessor(),
      logRecordProcessor: () => recorder.logRecordProcessor(),
    }),
  )
  const cpids = chance.fork('CPIDs')
  const instrumentation = createInstrumentation({
    newCpid: () => cpids.uuid(),
    nowMs: () => clock.nowMs(),
  })
  const tracing = {
    instrumentation,
    tracer: trace.getTracer(SCOPE),
    logger: logs.getLogger(SCOPE),
    marksDeletions: true,
    onWritten: (one: Written) => void written.push(one),
  }
  await clock.run(play())
  return {
    recorder,
    alpha: cpidThat(written, 'begins'),
    beta: cpidThat(written.toReversed(), 'begins'),
    gamma: cpidThat(written, 'merges'),
  }

  async function play(): Promise<void> {
    await using plane = new ControlPlane({
      clock,
      chance,
      tracingOf: () => tracing,
      without: ['horizontal-pod-autoscaler', 'metrics-server', 'garbage-collector'],
    })
    await plane.ready()
    await plane.kubectl.create('apps/v1/deployments', deployment('web', REPLICAS))
    await plane.kubectl.create('v1/services', service('web'))
    await plane.settled(LONGEST_STORY_MS)
  }
}

function cpidThat(written: readonly Written[], did: Written['origin']): string {
  const found = written.find(({ origin }) => origin === did)
  if (found === undefined) throw new Error(`nobody wrote anything that ${did}`)
  return found.cpid
}
