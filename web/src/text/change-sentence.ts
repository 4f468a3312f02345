import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { duration } from './duration.ts'
import { objectName } from './object-name.ts'

/** How reasons that Causeway works out begin, and what they say that was done. */
const DONE = new Map(
  Object.entries({
    creation: 'created',
    scale: 'scaled',
    deletion: 'deleted',
    removal: 'removed',
    binding: 'bound',
    status: 'reported the status of',
  }),
)

/** Why a change began without anybody: `schedule: creation by cronjob-controller`. */
const BY_ITSELF = /^(schedule|expiry|renewal|metric|health|unknown): (\S+) by /
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

/** Why a change began that nobody asked for, in words; undefined where somebody did, or nothing says so. */
export function selfBegun(reason: string | null): string | undefined {
  const [, why] = BY_ITSELF.exec(reason ?? '') ?? []
  return why === undefined ? undefined : WHY.get(why)
}

/** What a change was, as people tell it: `alice scaled deployment web`. */
export function changeSentence({
  actor,
  reason,
  object,
}: Pick<CascadeOutline, 'actor' | 'reason' | 'object'>): string {
  const [, , what] = BY_ITSELF.exec(reason ?? '') ?? []
  const [, part, by] = BY_SOMEBODY.exec(reason ?? '') ?? []
  const verb = DONE.get(what ?? part ?? '') ?? 'changed'
  const who = (part !== undefined && DONE.has(part) ? by : undefined) ?? actor ?? 'somebody'
  const why = selfBegun(reason)
  const sentence = `${who} ${verb} ${object === null ? 'something' : thing(object)}`
  return why === undefined ? sentence : `${sentence} ${why}`
}

/** How long before or after another moment: `2 min 5 s before`. */
export function relativeTo(start: string, other: string): string {
  const ms = Date.parse(start) - Date.parse(other)
  if (ms === 0) return 'at the same time'
  return `${duration(Math.abs(ms))} ${ms < 0 ? 'before' : 'after'}`
}

function thing(object: string): string {
  const { resource, name } = objectName(object)
  return resource === '' ? name : `${singular(resource)} ${name}`
}

/** The resource of one object: `deployment` for `deployments`. */
export function singular(resource: string): string {
  if (resource === 'endpoints') return resource
  if (resource.endsWith('ies')) return `${resource.slice(0, -3)}y`
  if (/(?:ss|x|ch|sh)es$/.test(resource)) return resource.slice(0, -2)
  return resource.endsWith('s') && !resource.endsWith('ss') ? resource.slice(0, -1) : resource
}
