import {
  createInstrumentation,
  type Instrumentation,
  type InstrumentationSettings,
} from 'causeway-instrumentation'
import type { AcceptedWrite } from '../../../packages/control-plane/api/local-client.ts'
import { virtualRun } from '../../../packages/control-plane/virtual-run.ts'
import { asShown, type Shown } from './as-shown.ts'
import type { History } from './history.ts'
import { reportedWrites, type ReportedWrite } from './said.ts'
import type { ShownWrite } from './as-shown.ts'

/** A history that was played: what it looked like from outside, and what its controllers said of it. */
export interface PlayedHistory {
  readonly shown: Shown
  readonly said: ReadonlyMap<ShownWrite, ReportedWrite>
}

export async function playHistory({ seed, latency, play }: History): Promise<PlayedHistory> {
  const accepted: (readonly [string, AcceptedWrite])[] = []
  const recorder = await virtualRun(
    {
      seed,
      latency,
      marksDeletions: true,
      instrument: whereOperatorsBegin,
      onAccepted: (component, write) => void accepted.push([component, write]),
    },
    play,
  )
  const shown = asShown(accepted)
  return { shown, said: reportedWrites(recorder, shown) }
}

/** An operator's change is of nothing that the object went through before, as it is where it is seen from outside. */
function whereOperatorsBegin(settings: InstrumentationSettings): Instrumentation {
  const inner = createInstrumentation(settings)
  const begun = new Set<string>()
  return {
    ...inner,
    newRoot: (detail) => {
      const root = inner.newRoot(detail)
      begun.add(root.cpid)
      return root
    },
    merge: (contexts, detail) => {
      const all = [...contexts]
      return all.findLast((one) => one !== undefined && begun.has(one.cpid)) ?? inner.merge(all, detail)
    },
  }
}
