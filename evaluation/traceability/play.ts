import type { ControlPlane } from '../../examples/control-plane/control-plane.ts'
import type { Recorder } from '../../examples/control-plane/telemetry/recorder.ts'
import { virtualRun, type VirtualRunSettings } from '../../examples/control-plane/virtual-run.ts'
import type { Finding } from './traceability-row.ts'
import { MergeGraph, mergelogsOf } from './merge-graph.ts'
import { Truth, type Deed, type Operation } from './truth.ts'

export type Scenario = (plane: ControlPlane) => Promise<void>
export type PlaySettings = Partial<Omit<VirtualRunSettings, 'around' | 'onWritten'>>

export interface Played {
  truth: Truth
  recorder: Recorder
}

/** Plays a scenario while somebody looks on who knows what follows from what. */
export async function play(settings: PlaySettings, scenario: Scenario): Promise<Played> {
  const state: { plane?: ControlPlane } = {}
  const truth = new Truth(() => Number(state.plane?.store.list('v1/nodes').resourceVersion))
  const recorder = await virtualRun(
    {
      seed: 1,
      ...settings,
      around: (component, doWork) => truth.around(component, doWork),
      onWritten: (component, written) => truth.told(component, written),
    },
    async (plane) => {
      state.plane = plane
      await scenario(plane)
    },
  )
  return { truth, recorder }
}

/** With chance as it is, what happens in one run need not happen in the next. */
const SEEDS = [1, 2, 3, 4, 5]

/** What is found from the CPID that the last operation of that name began with, in several runs together. */
export async function findFrom(
  reason: string,
  scenario: Scenario,
  settings: PlaySettings = {},
): Promise<Finding> {
  const findings: Finding[] = []
  for (const seed of SEEDS) {
    const { truth, recorder } = await play({ ...settings, seed }, scenario)
    const mergelogs = mergelogsOf(recorder)
    const operation = operationOf(truth, reason)
    const begun = mergelogs.filter(({ service, sources }) => service === 'kubectl' && sources.length === 0)
    const root = begun[operation.number]?.cpid
    const related = root === undefined ? new Set<string>() : new MergeGraph(mergelogs).relatedOf(root)
    findings.push(compare(truth, operation, related))
  }
  return united(findings)
}

/** The last operation of that name which did something. */
export function operationOf(truth: Truth, reason: string): Operation {
  const operation = truth.deeds.findLast((deed) => deed.operation?.reason === reason)?.operation
  if (operation === undefined) throw new Error(`nobody did ${reason}`)
  return operation
}

/** What is found with these CPIDs beside what truly follows from an operation. */
export function compare(truth: Truth, operation: Operation, related: ReadonlySet<string>): Finding {
  const reached: string[] = []
  const missed: string[] = []
  const wronglyTied: string[] = []
  for (const deed of truth.deeds) {
    const follows = truth.causesOf(deed).has(operation)
    const isFound = deed.cpid !== undefined && related.has(deed.cpid)
    const list = follows ? (isFound ? reached : missed) : isFound ? wronglyTied : undefined
    list?.push(nameOf(deed))
  }
  return united([{ reached, missed, wronglyTied }])
}

export function united(findings: readonly Finding[]): Finding {
  const all = (list: 'reached' | 'missed' | 'wronglyTied') => {
    return [...new Set(findings.flatMap((finding) => finding[list]))].sort()
  }
  return { reached: all('reached'), missed: all('missed'), wronglyTied: all('wronglyTied') }
}

function nameOf({ component, did, resource }: Deed): string {
  return `${component} ${did} ${resource}`
}
