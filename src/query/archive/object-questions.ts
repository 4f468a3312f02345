import { CORE_API_VERSION } from '../../model/kubernetes-objects.ts'
import { type Cpid, NIL_CPID } from '../../model/merge-graph.ts'
import type { ObjectActivity } from '../../model/queries.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import { amongCpids, type ArchiveClient, quote, referenceIn, textOf } from './archive-client.ts'
import {
  cpid,
  cpidIfAny,
  flag,
  integer,
  integerIfAny,
  oneOf,
  type RowOf,
  text,
  textIfAny,
} from './row-columns.ts'

/** One event of an object, and the Causeway that reported it. */
export interface FleetObject extends Omit<ObjectActivity, 'position'> {
  readonly causeway: string | undefined
}

const ACTIONS: readonly ObjectActivity['action'][] = ['observed', 'wrote', 'mergelog']
const OBJECT = {
  ...{ ref: text, action: oneOf(ACTIONS), cpid: cpidIfAny, at: integer, service: textIfAny },
  ...{ cluster: textIfAny, causeway: textIfAny, arrival: integerIfAny },
}
const ROOT = { cpid, root: cpid, drives: flag }
type ObjectRow = RowOf<typeof OBJECT>

interface AskedObjects {
  readonly ref: string
  /** The time of the last event. */
  readonly untilNs: UnixNanos | undefined
  readonly most: number
  /** The name of this Causeway in the archive. Events after `arrival` are taken from its database. */
  readonly own: { readonly causeway: string; readonly arrival: number } | undefined
  /** CPIDs that spans of this Causeway got after they were archived, by arrival. */
  readonly attributed: ReadonlyMap<number, Cpid>
}

/** The newest events of the objects of a reference, from the archive. Throws ArchiveSilent. */
export async function askObjects(
  archive: ArchiveClient,
  { ref, untilNs, most, own, attributed }: AskedObjects,
  deadline: AbortSignal,
): Promise<FleetObject[]> {
  const matching = matchingObjects(ref)
  if (matching === undefined) return []
  const notOurs =
    own === undefined ? '' : ` AND NOT (s.causeway = ${quote(own.causeway)} AND s.arrival > ${own.arrival})`
  const until = untilNs === undefined ? '' : ` WHERE at_ns <= ${untilNs}`
  const texts = (of: 'event' | 'mergelog', action: string, at: string, arrival: string): string =>
    `${referenceIn(of)} AS ref, CAST(${action} AS String) AS action, toString(s.cpid) AS cpid, toUnixTimestamp64Nano(${at}) AS at_ns,
        ${textOf('s.service')} AS service, ${textOf('s.cluster')} AS cluster,
        CAST(s.causeway AS String) AS causeway, ${arrival} AS arrival`
  const rows = await archive.rows(
    OBJECT,
    `SELECT ref, action, cpid, service, cluster, causeway, arrival, toString(at_ns) AS at FROM (
      SELECT ${texts('event', 's.action', "if(s.action = 'wrote', s.time, s.start)", 'toString(s.arrival)')}
      FROM ${archive.name('object_events')} AS s FINAL WHERE ${matching}${notOurs}
      UNION ALL
      SELECT ${texts('mergelog', "'mergelog'", 's.time', "''")}
      FROM ${archive.name('mergelogs')} AS s FINAL WHERE ${matching}
    )${until} ORDER BY at_ns DESC, ref, action, cpid, service, causeway LIMIT ${most}`,
    deadline,
  )
  return rows.map((row) => factsOf(row, own, attributed))
}

/** The SQL condition for rows that name objects of a reference; undefined if none can. */
export function matchingObjects(ref: string): string | undefined {
  const [name = '', query = ''] = ref.split('?', 2)
  const part = name.replace(/^\/+|\/+$/g, '')
  if (part === '') return undefined
  const wanted = [...new URLSearchParams(query)]
  // References have no other parameters, so nothing matches.
  if (wanted.some(([key]) => key !== 'uid' && key !== 'rv')) return undefined
  const value = (key: string): string | undefined => wanted.find(([name]) => name === key)?.[1]
  const [uid, version] = [value('uid'), value('rv')]
  return [
    namedBy(part),
    ...(uid === undefined ? [] : [`s.object_uid = ${quote(uid)}`]),
    ...(version === undefined ? [] : [`toString(s.object_version) = ${quote(version)}`]),
  ].join(' AND ')
}

/** The SQL condition under which `object` is this reference, begins with it, or contains it as whole parts. */
function namedBy(part: string): string {
  const parts = part.split('/')
  const beginsWithKind =
    parts.length > 1 && (CORE_API_VERSION.test(parts[0] ?? '') || CORE_API_VERSION.test(parts[1] ?? ''))
  return beginsWithKind
    ? `(s.object = ${quote(part)} OR s.object > ${quote(`${part}/`)} AND s.object < ${quote(`${part}0`)})`
    : `position(concat('/', s.object, '/'), ${quote(`/${part}/`)}) > 0`
}

function cpidIn(
  row: ObjectRow,
  own: AskedObjects['own'],
  attributed: AskedObjects['attributed'],
): Cpid | undefined {
  const now =
    own !== undefined && row.causeway === own.causeway ? attributed.get(Number(row.arrival)) : undefined
  return now ?? row.cpid
}

export interface Roots {
  readonly driving: readonly Cpid[]
  readonly passedOn: readonly Cpid[]
}

/** The roots of the cascades of each CPID, newest first. */
export async function askRoots(
  archive: ArchiveClient,
  cpids: readonly Cpid[],
  deadline: AbortSignal,
): Promise<Map<Cpid, Roots>> {
  const found = new Map<Cpid, { driving: Cpid[]; passedOn: Cpid[] }>()
  if (cpids.length === 0) return found
  const among = amongCpids(cpids)
  const rows = await archive.rows(
    ROOT,
    `SELECT toString(h.cpid) AS cpid, toString(h.root) AS root, max(h.drives = 'yes') AS drives
     FROM (SELECT cpid, root, drives FROM ${archive.name('cascade_changes')} FINAL WHERE cpid GLOBAL IN (${among})) AS h
     GLOBAL INNER JOIN (SELECT root, min(start) AS began FROM ${archive.name('cascades')} FINAL
       WHERE root GLOBAL IN (SELECT root FROM ${archive.name('cascade_changes')} WHERE cpid GLOBAL IN (${among})) GROUP BY root) AS c
     ON c.root = h.root
     GROUP BY h.cpid, h.root ORDER BY max(c.began) DESC, root`,
    deadline,
  )
  for (const { cpid, root, drives } of rows) {
    const roots = found.get(cpid) ?? { driving: [], passedOn: [] }
    found.set(cpid, roots)
    ;(drives ? roots.driving : roots.passedOn).push(root)
  }
  return found
}

function factsOf(
  row: ObjectRow,
  own: AskedObjects['own'],
  attributed: AskedObjects['attributed'],
): FleetObject {
  const { ref, action, at, service, cluster, causeway } = row
  return {
    object: ref,
    action,
    cpid: cpidIn(row, own, attributed),
    timeNs: at,
    ...{ service, cluster, causeway },
    cascades: [],
    drivenBy: [],
  }
}

/** Compares events by time, newest first, and otherwise as the archive sorts them. */
export function newestFirst(a: FleetObject, b: FleetObject): number {
  if (a.timeNs !== b.timeNs) return a.timeNs > b.timeNs ? -1 : 1
  const texts = ({ object, action, cpid = NIL_CPID, service = '', causeway = '' }: FleetObject): string[] => [
    ...[object, action, cpid, service, causeway],
  ]
  const others = texts(b)
  for (const [at, text] of texts(a).entries()) {
    const other = others[at] ?? ''
    if (text !== other) return text < other ? -1 : 1
  }
  return 0
}
