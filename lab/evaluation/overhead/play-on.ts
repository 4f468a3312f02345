import { logs, trace } from '@opentelemetry/api'
import { createInstrumentation } from 'causeway-instrumentation'
import { Chance } from '../../../packages/control-plane/chance.ts'
import type { Clock } from '../../../packages/control-plane/clock.ts'
import { VirtualClock } from '../../../packages/control-plane/virtual-clock.ts'
import { ControlPlane, type ControlPlaneSettings } from '../../../packages/control-plane/control-plane.ts'
import type { Tracing } from '../../../packages/control-plane/runtime/traced-work.ts'
import {
  ProcessTelemetry,
  type TelemetrySettings,
} from '../../../packages/control-plane/telemetry/process-telemetry.ts'

interface PlaySettings extends Pick<ControlPlaneSettings, 'latency' | 'pace'> {
  clock: Clock
  seed: number
  /** Where the telemetry goes; without it nothing is instrumented. */
  telemetry: TelemetryEnds | undefined
}

export type TelemetryEnds = Pick<TelemetrySettings, 'spanProcessor' | 'logRecordProcessor'>

/** Plays a scenario on a control plane of its own; resolves when its telemetry too is sent. */
export async function playOn<T>(
  { clock, seed, telemetry, ...settings }: PlaySettings,
  scenario: (plane: ControlPlane) => Promise<T>,
): Promise<T> {
  const chance = new Chance(seed)
  await using open = new AsyncDisposableStack()
  if (telemetry !== undefined) {
    const ends = { ...telemetry, clock, chance: chance.fork('telemetry'), cluster: 'evaluation' }
    open.use(new ProcessTelemetry(ends))
  }
  const tracingOf = (component: string): Tracing | undefined =>
    telemetry === undefined
      ? undefined
      : {
          instrumentation: createInstrumentation({ nowMs: () => clock.nowMs() }),
          tracer: trace.getTracer(component),
          logger: logs.getLogger(component),
          marksDeletions: false,
        }
  const play = async () => {
    await using plane = new ControlPlane({
      ...settings,
      clock,
      chance: chance.fork('control plane'),
      tracingOf,
    })
    await plane.ready()
    return await scenario(plane)
  }
  // Sending is not done in virtual time, so it is waited for outside.
  return await (clock instanceof VirtualClock ? clock.run(play()) : play())
}
