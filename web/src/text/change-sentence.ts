import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { duration } from './duration.ts'
import { objectName } from './object-name.ts'

/** The first word of an inferred reason, and the verb for it. */
const DONE = new Map(
  Object.entries({
    authored: 'changed',
    creation: 'created',
    scale: 'scaled',
    deletion: 'deleted',
    removal: 'removed',
    binding: 'bound',
    status: 'reported the status of',
  }),
)

/** The reason where nobody wrote one, and the name of a command's span: `kubectl create`. */
const COMMAND = /^(?:kubectl|oc) (create|apply|delete|scale|annotate|label|rollout|expose)\b/
const COMMANDS = new Map(
  Object.entries({
    create: 'created',
    apply: 'applied',
    delete: 'deleted',
    scale: 'scaled',
    annotate: 'annotated',
    label: 'labelled',
    rollout: 'rolled out',
    expose: 'exposed',
  }),
)

/** The reason of a mergelog that Causeway worked out, since the sender's own did not come, begins with it. */
const WORKED_OUT = /^worked out: /

/** The form of a reason for a change that began by itself: `schedule: creation by cronjob-controller`. */
const BY_ITSELF = /^(schedule|expiry|renewal|metric|health|unknown): ([^ ]+) by /
const BY_SOMEBODY = /^(\S+) by (.+)$/

const WHY = new Map(
  Object.entries({
    schedule: 'by schedule',
    expiry: 'because its time was up',
    renewal: 'to renew it',
    metric: 'because of a measurement',
    health: 'because something was unhealthy',
    unknown: 'by itself',
  }),
)

/** `schedule`, `metric` and the like, of a change that a controller began by itself. */
export function begunBecause(reason: string | null): string | undefined {
  return BY_ITSELF.exec(reason ?? '')?.[1]
}

/** Why a change began by itself, in words; undefined if somebody requested it, or if nothing says so. */
function selfBegun(reason: string | null): string | undefined {
  const because = begunBecause(reason)
  return because === undefined ? undefined : WHY.get(because)
}

/** What a command did, by the name of its span, behind `kubectl`; undefined for other names. */
export function deedOfCommand(name: string): string | undefined {
  const [, command] = COMMAND.exec(name) ?? []
  return COMMANDS.get(command ?? '')
}

/** What was done to an object, to stand behind its name; undefined where the reason is in somebody's own words. */
export function deedOf(reason: string | null): string | undefined {
  return partOf(reason) === 'status' ? 'status reported' : verbOf(reason)
}

/** A reason, with what was done in the words of `deedOf`. */
export function reasonText(reason: string): string {
  const because = begunBecause(reason)
  const before = because === undefined ? (WORKED_OUT.exec(reason)?.[0] ?? '') : `${because}: `
  const [, part = '', by = ''] = /^([^ ]+)( by .+)$/s.exec(reason.slice(before.length)) ?? []
  const done = part === 'status' ? 'status reported' : DONE.get(part)
  return done === undefined ? reason : `${before}${done}${by}`
}

function verbOf(reason: string | null): string | undefined {
  return DONE.get(partOf(reason) ?? '') ?? deedOfCommand(reason ?? '')
}

function partOf(reason: string | null): string | undefined {
  return partAndWriter(reason)?.[1]
}

function partAndWriter(reason: string | null): RegExpExecArray | null {
  return BY_SOMEBODY.exec(reason?.replace(WORKED_OUT, '') ?? '')
}

/** What a change was, in a sentence: `alice scaled deployment web`. `begunBy` is the name of the span that began it, where it is known. */
export function changeSentence(
  { actor, reason, object }: Pick<CascadeOutline, 'actor' | 'reason' | 'object'>,
  begunBy = '',
): string {
  const [, , what] = BY_ITSELF.exec(reason ?? '') ?? []
  const [, part, by] = partAndWriter(reason) ?? []
  const verb = DONE.get(what ?? '') ?? verbOf(reason) ?? deedOfCommand(begunBy) ?? 'changed'
  const who = (part !== undefined && DONE.has(part) ? by : undefined) ?? actor ?? 'somebody'
  const why = selfBegun(reason)
  const sentence = `${isolated(who)} ${verb} ${object === null ? 'something' : thing(object)}`
  return why === undefined ? sentence : `${sentence} ${why}`
}

/** How long before or after another moment: `2 min 5 s before`. */
export function relativeTo(start: string, other: string): string {
  const ms = Date.parse(start) - Date.parse(other)
  if (ms === 0) return 'at the same time'
  return `${duration(Math.abs(ms))} ${ms < 0 ? 'before' : 'after'}`
}

const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\u202e\u2067\ufb1d-\ufdff\ufe70-\ufefc]/

/** Between the characters that keep what is read from right to left from turning round what stands beside it (Unicode, FSI and PDI). */
function isolated(name: string): string {
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name
}

function thing(object: string): string {
  const { resource, name } = objectName(object)
  return resource === '' ? isolated(name) : `${singular(resource)} ${isolated(name)}`
}

/** The singular of a resource: `deployment` for `deployments`. */
export function singular(resource: string): string {
  if (resource === 'endpoints') return resource
  if (resource.endsWith('ies')) return `${resource.slice(0, -3)}y`
  if (/(?:ss|x|ch|sh)es$/.test(resource)) return resource.slice(0, -2)
  return resource.endsWith('s') && !resource.endsWith('ss') ? resource.slice(0, -1) : resource
}
