import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import type { Why, WhyVersion } from '../../../src/query/object-answer-schemas.ts'
import { begunBecause, changeSentence, deedOfCommand, singular } from '../text/change-sentence.ts'
import { objectName } from '../text/object-name.ts'

/** A write or a change that led to the present state of an object, and the numbers of the steps that it follows from. */
export interface WhyStep {
  readonly id: string
  /** Counts from 1, the first in time. */
  readonly number: number
  readonly timestamp: string
  /** What happened, in words; and the same without who did it, for places that show the actor separately. */
  readonly title: string
  readonly short: string
  readonly kind: 'person' | 'self' | 'superseded' | 'follows'
  readonly version: WhyVersion | undefined
  /** The change that began here. */
  readonly change: CascadeOutline | undefined
  readonly from: readonly string[]
}

/** In order of time: what people and controllers began, and what followed, up to the explained version. */
export function whySteps({ versions, changes }: Why): WhyStep[] {
  const byRoot = new Map(changes.map((change) => [change.root, change]))
  /** Changes that begin with a write in the list. They need no step of their own. */
  const told = new Set<string>()
  const ofVersions = versions.map((version, at): Omit<WhyStep, 'number'> => {
    const began = version.begunBy
      .map((root) => byRoot.get(root))
      .find((change) => change !== undefined && isItsWrite(version, change))
    if (began !== undefined) told.add(began.root)
    return {
      id: String(at),
      timestamp: version.timestamp,
      ...titles(
        began === undefined ? writeSentence(version) : { short: changeSentence(began, version.name) },
      ),
      kind: began === undefined ? kindOfWrite(version) : kindOfChange(began),
      version,
      change: began,
      from: [
        ...version.from.map(String),
        ...version.begunBy.filter((root) => byRoot.has(root) && root !== began?.root),
      ],
    }
  })
  const others = changes
    .filter(({ root }) => !told.has(root))
    .map((change): Omit<WhyStep, 'number'> => ({
      id: change.root,
      timestamp: change.start,
      ...titles({ short: changeSentence(change) }),
      kind: kindOfChange(change),
      version: undefined,
      change,
      from: [],
    }))
  const steps = [...ofVersions, ...others].map((step) => ({
    ...step,
    from: step.from.map((id) => idOf(id, ofVersions)),
  }))
  return causesFirst(steps).map((step, at) => ({ ...step, number: at + 1 }))
}

/** By time, but each step after those that it follows from, even if clocks disagree. */
function causesFirst(steps: readonly Omit<WhyStep, 'number'>[]): Omit<WhyStep, 'number'>[] {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const ordered = new Set<Omit<WhyStep, 'number'>>()
  const under = new Set<string>()
  const put = (step: Omit<WhyStep, 'number'>): void => {
    if (ordered.has(step) || under.has(step.id)) return
    under.add(step.id)
    const causes = step.from.flatMap((id) => byId.get(id) ?? [])
    for (const cause of causes.sort(byTime)) put(cause)
    ordered.add(step)
  }
  for (const step of steps.toSorted(byTime)) put(step)
  return [...ordered]
}

function byTime(one: Omit<WhyStep, 'number'>, other: Omit<WhyStep, 'number'>): number {
  return Date.parse(one.timestamp) - Date.parse(other.timestamp)
}

function titles({ who, short }: { who?: string; short: string }): Pick<WhyStep, 'title' | 'short'> {
  return { title: who === undefined ? short : `${who} ${short}`, short }
}

/** A change that a write began shares the step of that write. */
function idOf(id: string, ofVersions: readonly Omit<WhyStep, 'number'>[]): string {
  return ofVersions.find(({ change }) => change?.root === id)?.id ?? id
}

/** The write with which a change began, as named in its mergelog. */
function isItsWrite({ object, cause, from }: WhyVersion, change: CascadeOutline): boolean {
  if (from.length > 0) return false
  const isSame = objectName(change.object ?? '').reference === objectName(object).reference
  return isSame && (cause === undefined || cause === 'operator' || cause === 'self')
}

function kindOfChange({ reason, supersededBy }: CascadeOutline): WhyStep['kind'] {
  if (supersededBy !== undefined) return 'superseded'
  return begunBecause(reason) === undefined ? 'person' : 'self'
}

function kindOfWrite({ cause }: WhyVersion): WhyStep['kind'] {
  if (cause === 'operator') return 'person'
  return cause === 'self' ? 'self' : 'follows'
}

const VERBS: readonly (readonly [RegExp, string])[] = [
  [/^create /, 'created'],
  [/^delete /, 'deleted'],
  [/^scale /, 'scaled'],
  [/^bind /, 'bound'],
  [/[ /]status$/, 'reported the status of'],
]

function writeSentence({ name, object, user, service, cause }: WhyVersion): { who: string; short: string } {
  const { resource, name: called } = objectName(object)
  const verb = deedOfCommand(name) ?? VERBS.find(([pattern]) => pattern.test(name))?.[1] ?? 'changed'
  const who = cause === 'operator' ? (user ?? service) : service
  return { who, short: `${verb} ${resource === '' ? called : `${singular(resource)} ${called}`}` }
}
