import { namespaceOfObject } from '../../model/kubernetes-objects.ts'
import { type Cpid, parseCpid, parseCpidPrefix } from '../../model/merge-graph.ts'
import type { Found } from '../answer-schemas.ts'
import { answer } from '../answer.ts'
import { cascadeOutline } from '../cascade-json.ts'
import type { FindFilter, Question } from '../question.ts'
import { type ArchiveClient, ArchiveSilent, quote } from './archive-client.ts'
import type { ArchiveQuestions } from './archive-questions.ts'
import { type AskingParts, type FleetAnswer, withArchiveOrWithout, partialOf } from './asking-parts.ts'
import type { FleetCascade } from './cascade-questions.ts'
import { askRoots } from './object-questions.ts'
import { cpid, text } from './row-columns.ts'

/** How many of the newest CPIDs on the objects found are looked up for their cascades. */
const CHANGES = 200
const NAMED = { object: text }
const NOTHING: Found = { cpid: null, cpids: [], cascades: [], objects: [] }

interface FoundThere {
  readonly cpids: readonly Cpid[]
  readonly objects: readonly string[]
  readonly roots: readonly Cpid[]
}

/** Answers a search text from the archive and this database. */
export async function findInBoth(
  parts: AskingParts,
  questions: ArchiveQuestions,
  question: Question & { readonly kind: 'find' },
): Promise<Found & FleetAnswer> {
  const { limit, filter = {} } = question
  const here = ownAnswer(parts, question)
  const { value: there, partial } = await withArchiveOrWithout<FoundThere>(
    parts,
    async (deadline) => ({ value: await askFor(parts.archive, question, here.objects, deadline) }),
    () => ({ value: { cpids: [], objects: [], roots: [] } }),
  )
  const text = question.text.trim()
  const beginning = [...new Set([...cpidsOf(here), ...there.cpids])].sort()
  const whole = parseCpid(text) ?? (beginning.length === 1 ? beginning[0] : undefined)
  const known = whole === undefined ? 'unknown' : await orSilent(questions.cascadesOf(whole, {}))
  const ofCpid = typeof known === 'string' ? [] : known.cascades.map(({ root }) => root)
  const roots = [...new Set([...here.cascades.map(({ root }) => root as Cpid), ...there.roots, ...ofCpid])]
  const { cascades: told, partial: other } = await questions.cascades(filter, {}, roots)
  const cascades = onePerRoot(told).slice(0, limit)
  return {
    cpid: whole === undefined ? null : { cpid: whole, state: typeof known === 'string' ? known : 'known' },
    cpids: whole === undefined ? beginning.slice(0, limit) : [],
    cascades: cascades.map(cascadeOutline),
    objects: [...new Set([...here.objects, ...there.objects])].slice(0, limit),
    ...partialOf(partial ?? other),
  }
}

function ownAnswer({ queries }: AskingParts, question: Question): Found {
  if (queries === undefined) return NOTHING
  const answered = answer(queries, question)
  return answered.kind === 'found' ? (JSON.parse([...answered.pieces].join('')) as Found) : NOTHING
}

function cpidsOf({ cpid, cpids }: Found): Cpid[] {
  return [...(cpid === null || cpid.state === 'unknown' ? [] : [cpid.cpid as Cpid]), ...(cpids as Cpid[])]
}

/** Keeps one report of each cascade, preferably one that knows which service began it. */
function onePerRoot(told: readonly FleetCascade[]): FleetCascade[] {
  const cascades = new Map<Cpid, FleetCascade>()
  for (const one of told) {
    const known = cascades.get(one.root)
    if (known === undefined || (known.service === undefined && one.service !== undefined))
      cascades.set(one.root, one)
  }
  return [...cascades.values()]
}

/** A silent archive counts as an unknown CPID: `partial` of the answer already says that it is silent. */
async function orSilent<T>(asked: Promise<T>): Promise<T | 'unknown'> {
  try {
    return await asked
  } catch (error) {
    if (!(error instanceof ArchiveSilent)) throw error
    return 'unknown'
  }
}

async function askFor(
  archive: ArchiveClient,
  { text: given, limit, filter }: Question & { readonly kind: 'find' },
  ownObjects: readonly string[],
  deadline: AbortSignal,
): Promise<FoundThere> {
  const text = given.trim()
  const [cpid, prefix] = [parseCpid(text), parseCpidPrefix(text)]
  if (cpid !== undefined)
    return { cpids: [], objects: [], roots: await rootsOfTrace(archive, cpid, deadline) }
  const cpids = prefix === undefined ? [] : await cpidsBeginning(archive, prefix, limit, deadline)
  const objects = text === '' ? [] : await objectsNamed(archive, text, filter, limit, deadline)
  const changes = await changesOf(archive, [...new Set([...ownObjects, ...objects])], deadline)
  const roots = await askRoots(archive, changes, deadline)
  const touching = [...roots.values()].flatMap(({ driving, passedOn }) => [...driving, ...passedOn])
  return { cpids, objects, roots: [...new Set(touching)] }
}

/** How many of the newest CPIDs of a sender's trace are looked up for their cascades. */
const CPIDS_OF_TRACE = 100

/** The roots of a trace id, which is written like a CPID. It may be the id of a cascade's trace or one that a sender gave. */
async function rootsOfTrace(archive: ArchiveClient, trace: Cpid, deadline: AbortSignal): Promise<Cpid[]> {
  const rows = await archive.rows(
    { root: cpid },
    `SELECT toString(s.root) AS root FROM ${archive.name('cascades')} AS s FINAL WHERE s.trace_id = ${quote(trace)}
     UNION DISTINCT SELECT toString(c.root) AS root FROM ${archive.name('cascade_changes')} AS c FINAL
     WHERE c.cpid GLOBAL IN (SELECT s.cpid FROM ${archive.name('spans')} AS s WHERE s.trace_id = ${quote(trace)}
       GROUP BY s.cpid ORDER BY max(s.start) DESC LIMIT ${CPIDS_OF_TRACE})`,
    deadline,
  )
  return rows.map(({ root }) => root)
}

async function cpidsBeginning(
  archive: ArchiveClient,
  prefix: string,
  limit: number,
  deadline: AbortSignal,
): Promise<Cpid[]> {
  const rows = await archive.rows(
    { cpid },
    `SELECT DISTINCT toString(s.cpid) AS cpid FROM ${archive.name('cpids')} AS s
     WHERE startsWith(replaceAll(toString(s.cpid), '-', ''), ${quote(prefix.replaceAll('-', ''))}) ORDER BY cpid LIMIT ${Math.max(limit, 2)}`,
    deadline,
  )
  return rows.map(({ cpid }) => cpid)
}

async function objectsNamed(
  archive: ArchiveClient,
  text: string,
  { namespace, actor }: FindFilter = {},
  limit: number,
  deadline: AbortSignal,
): Promise<string[]> {
  const by = (columns: readonly string[]): string =>
    actor === undefined ? '' : ` AND (${columns.map((column) => `${column} = ${quote(actor)}`).join(' OR ')})`
  const within = namespace === undefined ? '' : ` AND position(s.object, ${quote(`/${namespace}/`)}) > 0`
  const named = `positionCaseInsensitiveUTF8(s.object, ${quote(text)}) > 0${within}`
  const rows = await archive.rows(
    NAMED,
    `SELECT object FROM (
       SELECT s.object AS object, s.time AS at FROM ${archive.name('object_events')} AS s
       WHERE ${named}${by(['s.actor', 's.service'])}
       UNION ALL SELECT assumeNotNull(s.object) AS object, s.time AS at FROM ${archive.name('mergelogs')} AS s
       WHERE ${named}${by(['s.service'])}
     ) GROUP BY object ORDER BY max(at) DESC, object LIMIT ${limit}`,
    deadline,
  )
  const found = rows.map(({ object }) => object)
  return namespace === undefined ? found : found.filter((object) => namespaceOfObject(object) === namespace)
}

async function changesOf(
  archive: ArchiveClient,
  objects: readonly string[],
  deadline: AbortSignal,
): Promise<Cpid[]> {
  if (objects.length === 0) return []
  const named = `s.object IN (${objects.map(quote).join(', ')})`
  const rows = await archive.rows(
    { cpid },
    `SELECT toString(id) AS cpid FROM (
       SELECT s.cpid AS id, s.time AS at FROM ${archive.name('object_events')} AS s FINAL
       WHERE ${named} AND s.cpid != toUUID('00000000-0000-0000-0000-000000000000')
       UNION ALL SELECT s.cpid AS id, s.time AS at FROM ${archive.name('mergelogs')} AS s FINAL WHERE ${named}
     ) GROUP BY id ORDER BY max(at) DESC LIMIT ${CHANGES}`,
    deadline,
  )
  return rows.map(({ cpid }) => cpid)
}
