import type { Chance } from '../../../packages/control-plane/chance.ts'
import type { JsonObject } from '../../../src/kube/objects/object-json.ts'
import { readAuditEvent } from '../../../src/kube/objects/audit-events.ts'
import { readWatchEvent } from '../../../src/kube/objects/observations.ts'
import type {
  MissingObject,
  Observation,
  WatchedVersion,
} from '../../../src/model/kubernetes-observations.ts'
import type { Outage, Source } from '../../harness/inference/replay.ts'
import { asJson, type Shown, type ShownWrite } from './as-shown.ts'
import type { History } from './history.ts'

const WATCH_MS = { least: 1, most: 10 }
const OUTAGE_MS = { least: 20, most: 600 }
/** About how many times a resource's watch is lost in a history. */
const OUTAGES = 2
/** From commit to the end of the request, in the middle of 584 writes of a real API server; the answer's way back is not in its log. */
const ANSWERING_MS = 0.3
const VERBS = { create: 'create', update: 'update', updateStatus: 'update', delete: 'delete' } as const
/** Those whose deletion is answered with the object; all others with a Status. */
const ANSWERED_WHOLE = ['v1/pods', 'v1/services']

/** What a Causeway beside the API server would be told by some sources, in the order in which it is told. */
interface SeenFromOutside {
  readonly observations: readonly Observation[]
  /** When a watch was lost, which its receiver knows. */
  readonly behind: readonly Outage[]
}

export function seenFromOutside(
  shown: Shown,
  sources: readonly Source[],
  outage: History['outage'],
  chance: Chance,
): SeenFromOutside {
  const behind: Outage[] = []
  const all = sources.flatMap((source) =>
    source === 'audit'
      ? shown.writes.flatMap((write) => audited(write, shown))
      : watched(shown, outage, chance, behind),
  )
  return { observations: all.sort((one, other) => Number(one.seenNs - other.seenNs)), behind }
}

/** The audit event's id of a write. */
export function auditIdOf({ version }: ShownWrite): string {
  return `00000000-0000-4000-8000-${String(version).padStart(12, '0')}`
}

function audited(write: ShownWrite, shown: Shown): Observation[] {
  const read = readAuditEvent(asJson(auditEvent(write, shown)))
  return typeof read === 'string' ? [] : [read]
}

function auditEvent(write: ShownWrite, { left }: Shown): object {
  const { accepted, component, object } = write
  const { did, resource, sent, options, startMs, committedMs, endMs } = accepted
  const { name, namespace, uid } = accepted.object.metadata
  const [group, version, plural] =
    resource.split('/').length === 3 ? resource.split('/') : ['', ...resource.split('/')]
  const status = { kind: 'Status', metadata: {}, details: { name, uid } }
  const isWhole = did !== 'delete' || ANSWERED_WHOLE.includes(resource)
  return {
    stage: 'ResponseComplete',
    verb: VERBS[did],
    auditID: auditIdOf(write),
    requestURI: `/${resource}`,
    user: { username: userOf(component) },
    userAgent: AGENTS[component] ?? 'kube-controller-manager/v1.36.3 (linux/amd64)',
    objectRef: {
      resource: plural,
      namespace,
      ...(did !== 'create' && { name }),
      apiGroup: group,
      apiVersion: version,
      ...(did === 'updateStatus' && { subresource: 'status' }),
    },
    responseStatus: { code: did === 'create' ? 201 : 200 },
    requestObject:
      sent === undefined ? asJson({ kind: 'DeleteOptions', ...options }) : bodyOf(sent.metadata, uid, left),
    responseObject: isWhole ? object : status,
    requestReceivedTimestamp: timestamp(startMs),
    stageTimestamp: timestamp(Math.min(endMs, committedMs + ANSWERING_MS)),
  }
}

/** What the request says that it read; a version that only a CPID made is that before it. */
function bodyOf(
  { resourceVersion }: { resourceVersion?: string | undefined },
  uid: string,
  left: Shown['left'],
): object {
  let read = resourceVersion === undefined ? undefined : Number(resourceVersion)
  while (read !== undefined && left.has(`${uid}@${read}`)) read = left.get(`${uid}@${read}`)
  return { metadata: read === undefined ? {} : { resourceVersion: String(read) } }
}

/** What a watch of each resource delivers; objects that nobody in the run made are there in the first list. */
function watched(
  { writes }: Shown,
  outage: History['outage'],
  chance: Chance,
  behind: Outage[],
): Observation[] {
  const byResource = Map.groupBy(writes, ({ accepted }) => accepted.resource)
  return [...byResource].flatMap(([resource, all]) => stream(all, outage, chance.fork(resource), behind))
}

function stream(
  writes: readonly ShownWrite[],
  outage: History['outage'],
  chance: Chance,
  behind: Outage[],
): Observation[] {
  const out: Observation[] = []
  const known = new Set<string>()
  let atMs = 0
  for (let next = 0; next < writes.length;) {
    const write = writes[next]!
    const isLost = outage !== 'none' && chance.next() < OUTAGES / writes.length
    if (!isLost) {
      atMs = Math.max(atMs, write.accepted.committedMs + chance.between(WATCH_MS))
      out.push(tell(write, atMs, 'event', known))
      next++
      continue
    }
    const untilMs = write.accepted.committedMs + chance.between(OUTAGE_MS)
    const after = writes.findIndex(({ accepted }) => accepted.committedMs > untilMs)
    const missed = writes.slice(next, after < 0 ? writes.length : after)
    next += missed.length
    atMs = Math.max(atMs, untilMs)
    behind.push({ fromNs: nanos(write.accepted.committedMs), untilNs: nanos(atMs) })
    if (outage === 'resumed') out.push(...missed.map((one) => tell(one, atMs, 'event', known)))
    else out.push(...relisted(missed, atMs, known))
  }
  return out
}

/** A list has the last version of each object alone; what it lacks has gone. */
function relisted(missed: readonly ShownWrite[], atMs: number, known: Set<string>): Observation[] {
  const last = Map.groupBy(missed, ({ accepted }) => accepted.object.metadata.uid)
  const version = BigInt(missed.at(-1)?.version ?? 0)
  return [...last].flatMap(([uid, writes]): Observation[] => {
    const write = writes.at(-1)!
    if (!write.gone) return [tell(write, atMs, 'later list', known)]
    if (!known.has(uid)) return []
    const { object } = tell(write, atMs, 'event', known)
    return [{ source: 'list', object, version, seenNs: nanos(atMs) } satisfies MissingObject]
  })
}

function tell(write: ShownWrite, atMs: number, by: WatchedVersion['by'], known: Set<string>): WatchedVersion {
  const { object, gone, accepted } = write
  known.add(accepted.object.metadata.uid)
  const type = gone ? 'DELETED' : 'MODIFIED'
  const resource = accepted.resource.split('/').at(-1)
  const read = readWatchEvent({ type, object } satisfies JsonObject, nanos(atMs), resource)
  if (typeof read === 'string') throw new Error(`a version cannot be read: ${read}`)
  return { ...read, by }
}

const AGENTS: Readonly<Record<string, string>> = {
  kubectl: 'kubectl/v1.36.3 (linux/amd64)',
  kubelet: 'kubelet/v1.36.3 (linux/amd64)',
  scheduler: 'kube-scheduler/v1.36.3 (linux/amd64)',
}

/** The names under which real Kubernetes runs what the demo calls otherwise. */
const ACCOUNTS: Readonly<Record<string, string>> = {
  'endpoints-controller': 'endpoint-controller',
  'garbage-collector': 'generic-garbage-collector',
}

function userOf(component: string): string {
  if (component === 'kubectl') return 'alice'
  if (component === 'kubelet') return 'system:node:node-1'
  if (component === 'scheduler') return 'system:kube-scheduler'
  return `system:serviceaccount:kube-system:${ACCOUNTS[component] ?? component}`
}

function nanos(ms: number): bigint {
  return BigInt(Math.round(ms * 1e3)) * 1_000n
}

function timestamp(ms: number): string {
  const micros = Math.round(ms * 1e3)
  const whole = new Date(Math.floor(micros / 1e3)).toISOString().slice(0, -1)
  return `${whole}${String(micros % 1_000).padStart(3, '0')}Z`
}
