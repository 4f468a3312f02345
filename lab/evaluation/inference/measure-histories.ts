import { Chance } from '../../../packages/control-plane/chance.ts'
import { KEPT_VERSIONS } from '../../../src/store/sqlite/observed-objects.ts'
import { MemoryObjects } from '../../harness/inference/memory-objects.ts'
import { replay, type Source } from '../../harness/inference/replay.ts'
import { classOfParent, classOfRoots, type WrongClass } from './classes.ts'
import { historyOf } from './history.ts'
import { judge, type Verdict } from './judge.ts'
import { seenFromOutside } from './outside.ts'
import { type PlayedHistory, playHistory } from './play-history.ts'

/** What came out for some writes. */
export interface Tally {
  writes: number
  /** No source told of them. */
  unseen: number
  wrongRoots: number
  /** Of those, the ones that read nothing with wrong changes: where something went wrong first. */
  wrongAtFirst: number
  /** Writes whose causal parent is asked for: all but operators'. */
  asked: number
  wrongParents: number
  exact: number
  /** Of those called exact, the ones for which a version was not read. */
  wronglyExact: number
}

export interface SourcesData {
  sources: string
  all: Tally
  /** Histories in which no watch had to list again. */
  unbroken: Tally
  /** Writes for which nothing was read that was not the newest, and so for all that they follow from. */
  ofNewest: Tally
  kinds: Record<string, Tally>
  roots: Partial<Record<WrongClass, number>>
  parents: Partial<Record<WrongClass, number>>
}

export interface HistoriesData {
  histories: number
  writes: number
  /** Writes of changes that all they had read says, and of those that count as causes alone. */
  sameWithAllRead: number
  sources: SourcesData[]
}

const SOURCES: readonly (readonly [name: string, sources: readonly Source[]])[] = [
  ['audit log and watch', ['audit', 'watch']],
  ['watch alone', ['watch']],
  ['audit log alone', ['audit']],
]
const EVERY = 25

/** Plays so many histories, and compares what is inferred from each kind of source with what the controllers said. */
export async function measureHistories(count: number, onStep: () => void): Promise<HistoriesData> {
  const data: HistoriesData = {
    histories: count,
    writes: 0,
    sameWithAllRead: 0,
    sources: SOURCES.map(([sources]) => ({
      ...{ sources, all: tally(), unbroken: tally(), ofNewest: tally(), kinds: {} },
      ...{ roots: {}, parents: {} },
    })),
  }
  for (let seed = 0; seed < count; seed++) {
    const history = historyOf(seed)
    const played = await playHistory(history)
    for (const [write, { roots, rootsOfAllRead }] of played.said) {
      data.writes++
      const isSame =
        roots.length === rootsOfAllRead.length && rootsOfAllRead.every((root) => roots.includes(root))
      if (isSame || write.component === 'kubectl') data.sameWithAllRead++
    }
    for (const [at, [, sources]] of SOURCES.entries()) {
      const seen = seenFromOutside(played.shown, sources, history.outage, new Chance(`outside ${seed}`))
      const who = { operators: [], controllers: [] }
      const objects = new MemoryObjects(KEPT_VERSIONS)
      const replayed = replay(seen.observations, sources, undefined, who, objects, seen.behind)
      add(data.sources[at]!, judge(played, replayed), played, history.outage !== 'relisted')
    }
    if (seed % EVERY === 0) onStep()
  }
  return data
}

function add(
  data: SourcesData,
  verdicts: readonly Verdict[],
  { said }: PlayedHistory,
  isUnbroken: boolean,
): void {
  const behind = writesFromBehind(verdicts, said)
  const wrongRoots = new Set(verdicts.filter(hasWrongRoots).map(({ write }) => versionOf(write)))
  for (const verdict of verdicts) {
    const truth = said.get(verdict.write)!
    const rootsClass = hasWrongRoots(verdict) ? classOfRoots(verdict, truth, wrongRoots) : undefined
    const tallies = [
      data.all,
      (data.kinds[kindOf(verdict)] ??= tally()),
      ...(isUnbroken ? [data.unbroken] : []),
      ...(behind.has(versionOf(verdict.write)) ? [] : [data.ofNewest]),
    ]
    for (const one of tallies) count(one, verdict, rootsClass)
    if (rootsClass !== undefined) data.roots[rootsClass] = (data.roots[rootsClass] ?? 0) + 1
    if (verdict.decision === undefined || verdict.parent !== 'wrong') continue
    const parentClass = classOfParent(verdict, truth)
    data.parents[parentClass] = (data.parents[parentClass] ?? 0) + 1
  }
}

/**
 * The writes of whoever had read something that was not the newest when it wrote, as its cache was behind, and all that follows from
 * them until an operator writes: which version was read, and so which changes they are of, nothing outside shows.
 */
function writesFromBehind(verdicts: readonly Verdict[], said: PlayedHistory['said']): ReadonlySet<string> {
  const writes = verdicts.map(({ write }) => write).sort((one, other) => one.version - other.version)
  const newest = new Map<string, number>()
  const behind = new Set<string>()
  for (const write of writes) {
    const { uid: own } = write.accepted.object.metadata
    const before = `${own}@${newest.get(own)}`
    const observed = write.component === 'kubectl' ? [] : [before, ...(said.get(write)?.observed ?? [])]
    const isBehind = observed.some((version) => {
      const [uid = '', of = '0'] = version.split('@')
      return behind.has(version) || (newest.get(uid) ?? 0) > Number(of)
    })
    if (isBehind) behind.add(versionOf(write))
    newest.set(own, write.version)
  }
  return behind
}

function count(one: Tally, verdict: Verdict, rootsClass: WrongClass | undefined): void {
  one.writes++
  if (verdict.decision === undefined) {
    one.unseen++
    return
  }
  if (rootsClass !== undefined) one.wrongRoots++
  if (rootsClass !== undefined && rootsClass !== 'inherited') one.wrongAtFirst++
  if (verdict.parent !== 'none asked') one.asked++
  if (verdict.parent === 'wrong') one.wrongParents++
  if (verdict.decision.cause !== 'exact') return
  one.exact++
  if (verdict.wronglyExact > 0) one.wronglyExact++
}

function hasWrongRoots({ decision, missing, extra }: Verdict): boolean {
  return decision !== undefined && missing.length + extra.length > 0
}

function versionOf({ accepted, version }: Verdict['write']): string {
  return `${accepted.object.metadata.uid}@${version}`
}

const DID = {
  create: 'creates',
  update: 'updates',
  updateStatus: 'writes the status of',
  delete: 'deletes',
} as const

function kindOf({ write: { component, accepted } }: Verdict): string {
  const resource = accepted.resource.split('/').at(-1) ?? ''
  const isBinding = component === 'scheduler'
  return `${component} ${isBinding ? 'binds' : DID[accepted.did]} ${resource}`
}

function tally(): Tally {
  return {
    ...{ writes: 0, unseen: 0, wrongRoots: 0, wrongAtFirst: 0 },
    ...{ asked: 0, wrongParents: 0, exact: 0, wronglyExact: 0 },
  }
}
