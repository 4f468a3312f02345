import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
} from 'causeway-instrumentation'
import { logs, trace } from '@opentelemetry/api'
import { Chance } from './chance.ts'
import type { Clock } from './clock.ts'
import { ControlPlane, type ControlPlaneSettings } from './control-plane.ts'
import type { Controller } from './runtime/controller.ts'
import type { Tracing, Written } from './runtime/traced-work.ts'
import { ProcessTelemetry } from './telemetry/process-telemetry.ts'
import { Recorder } from './telemetry/recorder.ts'
import { VirtualClock } from './virtual-clock.ts'

export interface VirtualRunSettings extends Omit<
  ControlPlaneSettings,
  'clock' | 'chance' | 'tracingOf' | 'others'
> {
  /** The same seed gives the same run. */
  seed: number
  /** The paper's N: 10 unless said otherwise. */
  maxAncestors?: number
  marksDeletions?: boolean
  /** Who is not instrumented: nobody unless said otherwise. `kubectl` is a component too. */
  isPlain?: (component: string) => boolean
  /** Makes what the components merge with: `createInstrumentation` unless said otherwise. */
  instrument?: (settings: InstrumentationSettings) => Instrumentation
  onWritten?: (component: string, written: Written) => void
  /** Controllers beside those of Kubernetes, each made with what it would trace with. */
  others?: Readonly<Record<string, (tracing: Tracing & { newCpid: () => string }) => Controller>>
}

/**
 * Plays a scenario on a control plane in virtual time, with everything that the components send recorded. OpenTelemetry
 * is global, so there is only one run at a time.
 */
export async function virtualRun(
  settings: VirtualRunSettings,
  scenario: (plane: ControlPlane, clock: Clock) => Promise<void>,
): Promise<Recorder> {
  const { seed, isPlain = () => false, others = {}, instrument = createInstrumentation, ...rest } = settings
  const clock = new VirtualClock()
  const chance = new Chance(seed)
  const recorder = new Recorder()
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
  const newCpidOf = (component: string) => {
    const own = chance.fork(`CPIDs of ${component}`)
    return () => own.uuid()
  }
  const tracingOf = (component: string, newCpid = newCpidOf(component)): Tracing => ({
    instrumentation: instrument({
      newCpid,
      nowMs: () => clock.nowMs(),
      ...(settings.maxAncestors !== undefined && { maxAncestors: settings.maxAncestors }),
    }),
    tracer: trace.getTracer(component),
    logger: logs.getLogger(component),
    marksDeletions: settings.marksDeletions ?? false,
    onWritten: (written) => settings.onWritten?.(component, written),
  })
  const made = Object.entries(others).map(([name, make]) => {
    const newCpid = newCpidOf(name)
    return [name, make({ ...tracingOf(name, newCpid), newCpid })] as const
  })
  const play = async () => {
    await using plane = new ControlPlane({
      ...rest,
      clock,
      chance: chance.fork('control plane'),
      tracingOf: (component) => (isPlain(component) ? undefined : tracingOf(component)),
      others: Object.fromEntries(made),
    })
    await plane.ready()
    await scenario(plane, clock)
  }
  await clock.run(play())
  return recorder
}
