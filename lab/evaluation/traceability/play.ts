import type { ControlPlane } from '../../../packages/control-plane/control-plane.ts'
import type { Recorder } from '../../../packages/control-plane/telemetry/recorder.ts'
import { virtualRun, type VirtualRunSettings } from '../../../packages/control-plane/virtual-run.ts'
import type { Finding } from './traceability-row.ts'
import { MergeGraph, mergelogsOf } from './merge-graph.ts'
import { RealCauseway } from './real-causeway.ts'
import { Truth, type TrueWrite, type Operation } from './truth.ts'

type Scenario = (plane: ControlPlane) => Promise<void>
type PlaySettings = Partial<Omit<VirtualRunSettings, 'around' | 'onWritten'>>

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

export interface FindSettings extends Omit<PlaySettings, 'seed'> {
  /** The CPID to ask from: the one that the operation began with, or the first that a write which follows says. */
  askFrom?: 'operation' | 'first found'
  /** Work that follows from an operation although nothing that it observed says so. */
  unseen?: { component: string; followsFrom: string }
  /** The writes to look at: all unless said otherwise. */
  only?: (deed: TrueWrite) => boolean
}

/** What is found from the last operation of that name, in several runs together. */
export async function findFrom(
  reason: string,
  scenario: Scenario,
  { askFrom = 'operation', unseen, only = () => true, ...settings }: FindSettings = {},
): Promise<Finding> {
  const findings: Finding[] = []
  for (const seed of SEEDS) {
    const { truth, recorder } = await play({ ...settings, seed }, scenario)
    const operation = operationOf(truth, reason)
    if (unseen !== undefined) truth.alsoFollows(unseen.component, operationOf(truth, unseen.followsFrom))
    const first = truth.deeds.find((deed) => deed.cpid !== undefined && truth.causesOf(deed).has(operation))
    const cpid = askFrom === 'operation' ? rootOf(recorder, operation) : first?.cpid
    const related = cpid === undefined ? new Set<string>() : relatedIn(recorder, cpid)
    findings.push(compare(truth.deeds.filter(only), truth, operation, related))
  }
  return united(findings)
}

/** The same, where a real Causeway has taken all that was sent and is asked. */
export async function findThroughCauseway(
  reason: string,
  scenario: Scenario,
  { seeds = SEEDS, ...settings }: Omit<PlaySettings, 'seed'> & { seeds?: readonly number[] },
): Promise<Finding> {
  const findings: Finding[] = []
  await using causeway = await RealCauseway.start()
  for (const seed of seeds) {
    const { truth, recorder } = await play({ ...settings, seed }, scenario)
    await causeway.take(recorder)
    const operation = operationOf(truth, reason)
    const related = await causeway.relatedOf(rootOf(recorder, operation) ?? '')
    findings.push(compare(truth.deeds, truth, operation, related))
  }
  return { ...united(findings), refused: await causeway.refused() }
}

/** The CPID that an operation began with; undefined when kubectl was not instrumented. */
export function rootOf(recorder: Recorder, { number }: Operation): string | undefined {
  const begun = mergelogsOf(recorder).filter(({ service, sources }) => {
    return service === 'kubectl' && sources.length === 0
  })
  return begun[number]?.cpid
}

function relatedIn(recorder: Recorder, cpid: string): Set<string> {
  return new MergeGraph(mergelogsOf(recorder)).relatedOf(cpid)
}

/** The last operation of that name which did something. */
function operationOf(truth: Truth, reason: string): Operation {
  const operation = truth.deeds.findLast((deed) => deed.operation?.reason === reason)?.operation
  if (operation === undefined) throw new Error(`nobody did ${reason}`)
  return operation
}

/** What is found with these CPIDs beside what truly follows from an operation. */
export function compare(
  deeds: readonly TrueWrite[],
  truth: Truth,
  operation: Operation,
  related: ReadonlySet<string>,
): Finding {
  const reached: string[] = []
  const missed: string[] = []
  const wronglyTied: string[] = []
  for (const deed of deeds) {
    const follows = truth.causesOf(deed).has(operation)
    const isFound = deed.cpid !== undefined && related.has(deed.cpid)
    const list = follows ? (isFound ? reached : missed) : isFound ? wronglyTied : undefined
    list?.push(nameOf(deed))
  }
  return united([{ reached, missed, wronglyTied }])
}

function united(findings: readonly Finding[]): Finding {
  const all = (list: 'reached' | 'missed' | 'wronglyTied') => {
    return [...new Set(findings.flatMap((finding) => finding[list]))].sort()
  }
  return { reached: all('reached'), missed: all('missed'), wronglyTied: all('wronglyTied') }
}

function nameOf({ component, did, resource }: TrueWrite): string {
  return `${component} ${did} ${resource}`
}
