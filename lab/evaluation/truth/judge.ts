import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { resourceOfKind } from '../../../src/kube/objects/object-json.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { type MadeObject, JudgeByContent } from './told-by-content.ts'

/**
 * What is said of a version beside the step that it was meant by: `right` where that step drives it; `either` where two steps overlap and
 * the other one does; `begun` where what drives it began by itself; `mixed` where the step is passed on with it; `wrong`; `unseen`.
 */
export const VERDICTS = ['right', 'either', 'begun', 'mixed', 'wrong', 'unseen'] as const
export type VerdictOfVersion = (typeof VERDICTS)[number]

export interface JudgedVersion {
  readonly story: string
  readonly object: string
  readonly version: number
  readonly verdict: VerdictOfVersion
  /** `operator`, `self`, `exact` or `inferred`; empty where it was not seen. */
  readonly claim: string
  readonly span: string
  readonly step: string
  /** What else is said to drive it, though it was not meant by that: other steps, and changes that nobody began. */
  readonly besides: readonly string[]
}

interface Step {
  readonly id: string
  readonly t0: number
  readonly t1: number
  readonly scen: string
  readonly user: string
  readonly desc: string
  readonly made: readonly { readonly name: string; readonly rv: number | null }[]
}

interface RecordedVersion {
  readonly ms: number
  readonly version: number
  readonly object: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
  readonly made: MadeObject
}

/**
 * Where a step cannot be told from the ones before it by what is seen: what of it may as well come from so many steps before. Each ruling
 * has its reason.
 */
export const RULINGS: readonly {
  readonly steps: RegExp
  readonly back: number
  readonly why: string
  /** Of these objects alone. */
  readonly objects?: RegExp
}[] = [
  { steps: /s01.*(?:unfinished|scale 8|undo|pause|resume)/, back: 2, why: 'the rollout before is under way' },
  { steps: /s07.*apply env=2/, back: 1, why: 'the image was applied 0.15 s before' },
  {
    steps: /s07.*(?:apply label|no-op)/,
    back: 1,
    why: 'a label, or nothing, is applied while the rollout before is under way',
  },
  { steps: /s02.*(?:db-0 by hand|delete sts)/, back: 1, why: 'what was deleted before waits for it' },
  {
    steps: /s03.*(?:delete node|nodeSelector|unlabel)/,
    back: 3,
    why: 'Pods of a node that is gone are collected 40 s later',
  },
  { steps: /s05.*cordon/, back: 1, why: 'what was made before is not there yet' },
  {
    steps: /v1-overwrite.*(?:without a pause|at once)/,
    back: 1,
    why: 'some of it was made before the second step',
  },
  { steps: /k1-kubelet/, back: 2, why: 'a label silenced the kubelet, and another lets it speak' },
  { steps: /d5-before.*while it goes/, back: 1, why: 'the bucket was deleted before its namespace' },
  {
    steps: /i2-drift.*(?:scale to 3, which|delete the deployment)/,
    back: 2,
    why: 'a Kustomization says at each interval that Flux looked again, whatever anybody did meanwhile',
    objects: /\/kustomizations\//,
  },
  { steps: /i2-drift.*while a commit/, back: 1, why: 'the commit before is being applied' },
  { steps: /i3-suspended.*resume/, back: 1, why: 'what is applied then was pushed before' },
  { steps: /t2-undone.*(?:pause|undo|resume)/, back: 2, why: 'the rollout before is under way' },
  { steps: /y2-drained.*while that/, back: 1, why: 'a node is being drained' },
  { steps: /u7-claims.*claim late/, back: 1, why: 'the binder looks again every 15 s' },
  { steps: /p1-pdb.*delete the node/, back: 2, why: 'a Pod waits for a node, and each story has others' },
]

interface Event {
  readonly cpid: string
  readonly object: string
  readonly version: number
  readonly time: string
  readonly span: string
  readonly span_id: string
  readonly actor: string | null
  readonly cause: string | null
}

const linesOf = <T>(path: string): T[] =>
  gunzipSync(readFileSync(path))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as T)

/** Compares what was stored of a recording with what was meant in it. */
export function judgeRecording(db: Sqlite, folder: string): JudgedVersion[] {
  const steps = readSteps(folder)
  const begins = Math.min(...steps.map(({ t0 }) => t0))
  const said = new ReportedWrite(db, steps)
  const versions = readVersions(folder)
  const content = new JudgeByContent(versions.map(({ made }) => made))
  return versions.flatMap((version): JudgedVersion[] => {
    const story = version.ms < begins ? undefined : storyOf(version, steps)
    const of = story === undefined ? [] : steps.filter(({ scen }) => scen === story)
    const at = of.findLastIndex((step) => isBefore(step, version))
    const step = of[at]
    if (story === undefined || step === undefined) return []
    const ruling = RULINGS.find(
      ({ steps: which, objects }) =>
        which.test(`${story} ${step.desc}`) && (objects === undefined || objects.test(version.object)),
    )
    const possible = of.slice(Math.max(0, at - (ruling?.back ?? 0)), at + 1)
    const told = possible.length > 1 ? content.stepOf(version.made, possible) : undefined
    const others = told === undefined ? possible.slice(0, -1).map(({ id }) => id) : []
    const meant = told ?? step.id
    return [{ story, step: meant, ...pick(version), ...said.verdict(version, meant, others) }]
  })
}

/** A change that began while the stories were played. */
export interface BegunChange {
  /** The object and its version that it began with. */
  readonly object: string
  /** Neither a person nor a reason is known. */
  readonly isUnexplained: boolean
  /** Who began it, as auditors read it. */
  readonly actor: string | null
}

export function begunChanges(db: Sqlite, folder: string): BegunChange[] {
  const fromMs = Math.min(...readSteps(folder).map(({ t0 }) => t0))
  return db
    .prepare<[string], { object: string; reason: string; actor: string | null }>(
      `SELECT m.object || ' ' || coalesce(m.object_version, '') AS object, m.reason AS reason, k.actor AS actor
       FROM audit_cpids c JOIN audit_mergelogs m ON m.cpid = c.cpid
       LEFT JOIN audit_cascades k ON k.root = c.cpid AND k.episode = 0
       WHERE c.kind = 'root' AND c.merged_at >= ? ORDER BY c.merged_at`,
    )
    .all(new Date(fromMs).toISOString())
    .map(({ object, reason, actor }) => ({
      ...{ object, actor },
      isUnexplained: reason.startsWith('unknown: '),
    }))
}

const pick = ({ object, version }: RecordedVersion): { object: string; version: number } => ({
  object,
  version,
})

/** In the order in which the API server took them: by version where both made one. */
function readSteps(folder: string): Step[] {
  const steps = linesOf<Omit<Step, 'id'>>(join(folder, 'truth.jsonl.gz'))
  const counts = new Map<string, number>()
  return steps.toSorted(inOrder).map((step) => {
    const count = counts.get(step.scen) ?? 0
    counts.set(step.scen, count + 1)
    return { ...step, id: `${step.scen}#${count}` }
  })
}

function inOrder(one: Omit<Step, 'id'>, other: Omit<Step, 'id'>): number {
  const [a, b] = [one, other].map(firstVersion)
  const overlap = one.t0 <= other.t1 && other.t0 <= one.t1
  return overlap && one.scen === other.scen && a !== undefined && b !== undefined ? a - b : one.t0 - other.t0
}

function firstVersion({ made }: Pick<Step, 'made'>): number | undefined {
  const versions = made.flatMap(({ rv }) => (typeof rv === 'number' ? [rv] : []))
  return versions.length === 0 ? undefined : Math.min(...versions)
}

/** A deletion is answered with the version before it. */
const DELETES = /^delete|DELETE|drain|evict/

/** What the API server writes on the way, before what somebody asked for is stored. */
const ON_THE_WAY = new Set(['v1/resourcequotas', 'networking.k8s.io/v1/ipaddresses'])

function isBefore(step: Step, { version, ms, resource }: RecordedVersion): boolean {
  const isAfterAll = DELETES.test(step.desc) || ON_THE_WAY.has(resource)
  const first = isAfterAll ? undefined : firstVersion(step)
  return first === undefined ? step.t0 <= ms : version >= first
}

interface WatchLine {
  readonly time: string
  readonly object: MadeObject & {
    readonly apiVersion: string
    readonly metadata: { readonly namespace?: string; readonly resourceVersion: string }
  }
}

function readVersions(folder: string): RecordedVersion[] {
  return linesOf<WatchLine>(join(folder, 'watch.jsonl.gz')).map(({ time, object: made }) => {
    const { apiVersion, kind, metadata } = made
    const { name, namespace = '' } = metadata
    const resource = `${apiVersion}/${resourceOfKind(kind)}`
    const object = [resource, ...(namespace === '' ? [] : [namespace]), name].join('/')
    return {
      ms: Date.parse(time),
      version: Number(metadata.resourceVersion),
      object,
      resource,
      namespace,
      name,
      made,
    }
  })
}

/** By its namespace, or its name if it is in none: that of the story, or one that begins as it does. */
function storyOf({ namespace, name }: RecordedVersion, steps: readonly Step[]): string | undefined {
  const of = namespace === '' ? name : namespace
  const own = steps.find(({ scen }) => scen === of)
  return (own ?? steps.find(({ scen }) => of.startsWith(scen.slice(0, scen.indexOf('-') + 1))))?.scen
}

/** What Causeway says, as auditors read it. */
class ReportedWrite {
  readonly #events = new Map<string, Event>()
  readonly #above = new Map<string, string[]>()
  readonly #driving = new Map<string, string[]>()
  readonly #began = new Map<string, string>()

  constructor(db: Sqlite, steps: readonly Step[]) {
    const events = db
      .prepare<[], Event>(
        `SELECT cpid, object, object_version AS version, time, span, span_id, actor, cause FROM audit_object_events
           WHERE action = 'wrote' AND cause IS NOT NULL`,
      )
      .all()
    for (const event of events) this.#events.set(`${event.object} ${event.version}`, event)
    const roots = db
      .prepare<[], { cpid: string; object: string; version: number }>(
        'SELECT cpid, object, object_version AS version FROM audit_mergelogs WHERE source_count = 0',
      )
      .all()
    for (const { cpid, object, version } of roots) {
      const event = this.#events.get(`${object} ${version}`)
      this.#began.set(cpid, event === undefined ? 'nobody' : begunIn(event, steps))
    }
    for (const { source, cpid } of db
      .prepare<[], { source: string; cpid: string }>('SELECT source, cpid FROM audit_edges')
      .all())
      this.#above.set(cpid, [...(this.#above.get(cpid) ?? []), source])
    for (const { root, span_id: span } of db
      .prepare<[], { root: string; span_id: string }>(
        "SELECT root, span_id FROM audit_cascade_spans WHERE activity = 'yes'",
      )
      .all())
      this.#driving.set(span, [...(this.#driving.get(span) ?? []), root])
  }

  verdict(
    { object, version }: RecordedVersion,
    step: string,
    others: readonly string[],
  ): Pick<JudgedVersion, 'verdict' | 'claim' | 'span' | 'besides'> {
    const event = this.#events.get(`${object} ${version}`)
    if (event === undefined) return { verdict: 'unseen', claim: '', span: '', besides: [] }
    const drivers = (this.#driving.get(event.span_id) ?? []).map((root) => this.#began.get(root) ?? 'nobody')
    const roots = this.#rootsOf(event.cpid).map((root) => this.#began.get(root) ?? 'nobody')
    const verdict = drivers.includes(step)
      ? 'right'
      : drivers.some((one) => others.includes(one))
        ? 'either'
        : drivers.includes(SELF)
          ? 'begun'
          : roots.includes(step)
            ? 'mixed'
            : 'wrong'
    const besides = [...new Set(drivers)].filter((one) => one !== step && !others.includes(one))
    const span = `${event.span} by ${event.actor ?? 'unknown'}`
    return { verdict, claim: event.cause ?? '', span, besides }
  }

  #rootsOf(cpid: string): string[] {
    const seen = new Set<string>()
    const left = [cpid]
    const roots: string[] = []
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      if (seen.has(next)) continue
      seen.add(next)
      const above = this.#above.get(next) ?? []
      if (above.length === 0) roots.push(next)
      left.push(...above)
    }
    return roots
  }
}

const SELF = 'self'
/** How far the clocks of who took a step and of the API server may be apart. */
const BEFORE_MS = 400
const AFTER_MS = 1_500

/** Who pushes a commit begins what Flux finds then. */
const PUSHES = /^push/
const COMMIT = '@sha1:'

/** The step that a change was begun in. */
function begunIn({ object, version, time, actor, cause }: Event, steps: readonly Step[]): string {
  if (cause === 'self') return SELF
  if (cause !== 'operator') return 'nobody'
  const name = object.slice(object.lastIndexOf('/') + 1)
  const exact = steps.find(({ made }) => made.some((one) => one.rv === version && one.name === name))
  if (exact !== undefined) return exact.id
  const ms = Date.parse(time)
  const parts = object.split('/')
  const of = steps.filter(
    ({ scen, t0, t1, user, desc }) =>
      parts.some((part) => part === scen || part.startsWith(scen.slice(0, scen.indexOf('-') + 1))) &&
      ms >= t0 - BEFORE_MS &&
      ms <= t1 + AFTER_MS &&
      (actor?.includes(COMMIT) === true) === PUSHES.test(desc) &&
      (actor === null || !['alice', 'bob', 'carol'].includes(actor) || actor === user),
  )
  const named = of.findLast(({ made }) => made.some((one) => one.name === name))
  return (named ?? of.at(-1))?.id ?? 'nobody'
}
