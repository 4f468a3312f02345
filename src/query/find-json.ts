import { parseCpid, parseCpidPrefix, type Cpid } from '../model/cpid.ts'
import { namespaceOfObject } from '../model/object-reference.ts'
import type { CausewayQueries } from '../model/ports/query-port.ts'
import type { Found } from './answers/objects.ts'
import { cascadeOutline } from './cascade/cascade-json.ts'
import type { FindFilter } from './question.ts'

/** How much of what happened to a found object is looked at for its cascades. */
const HAPPENINGS = 100
/** How many objects are looked at for somebody who may have touched none of them. */
const LOOKED_AT = 1_000

/**
 * What a text may mean: a CPID, whole or by how it begins, or the id of an outgoing trace, and objects whose reference contains it; with the
 * cascades of either, newest first.
 */
export function* findJson(
  queries: CausewayQueries,
  asked: string,
  limit: number,
  filter: FindFilter = {},
): Generator<string> {
  const text = asked.trim()
  const prefix = parseCpidPrefix(text)
  const beginning = prefix === undefined ? [] : queries.cpidsBeginning(prefix, Math.max(limit, 2))
  // Where one CPID alone begins so, it is as if all of it had been written.
  const whole = parseCpid(text)
  const cpid = whole ?? (beginning.length === 1 ? beginning[0] : undefined)
  const objects: string[] = []
  const roots = new Set<Cpid>()
  let state: NonNullable<Found['cpid']>['state'] = 'unknown'
  if (cpid !== undefined) {
    const ofTrace = queries.rootOfTrace(Buffer.from(cpid.replaceAll('-', ''), 'hex'))
    if (ofTrace !== undefined) roots.add(ofTrace)
    const found = queries.cascadesOf(cpid)
    if (typeof found !== 'string') for (const root of found) roots.add(root)
    state = typeof found === 'string' ? found : 'known'
  }
  if (whole === undefined && text !== '') {
    for (const object of objectsNamed(queries, text, filter)) {
      if (object !== undefined && objects.push(object) >= limit) break
      yield ''
    }
    for (const object of objects) {
      for (const root of cascadesTouching(queries, object)) roots.add(root)
      yield ''
      if (roots.size >= limit) break
    }
  }
  const cascades = []
  for (const page of queries.cascadesAmong([...roots], undefined, filter)) cascades.push(...page)
  yield JSON.stringify({
    cpid: cpid === undefined ? null : { cpid, state },
    cpids: cpid === undefined ? beginning.slice(0, limit) : [],
    cascades: cascades.slice(0, limit).map(cascadeOutline),
    objects,
  } satisfies Found)
}

/** Undefined between objects stands for work that found none. */
function* objectsNamed(
  queries: CausewayQueries,
  text: string,
  filter: FindFilter,
): Generator<string | undefined> {
  let left = LOOKED_AT
  for (const page of queries.objectsNamed(text)) {
    yield undefined
    for (const object of page) {
      if (filter.namespace !== undefined && namespaceOfObject(object) !== filter.namespace) continue
      if (filter.actor === undefined) yield object
      else if (left-- === 0) return
      else yield isTouched(queries, object, filter) ? object : undefined
    }
  }
}

function isTouched(queries: CausewayQueries, object: string, filter: FindFilter): boolean {
  for (const page of queries.cascadesAmong([...cascadesTouching(queries, object)], undefined, filter))
    if (page.length > 0) return true
  return false
}

function cascadesTouching(queries: CausewayQueries, object: string): Set<Cpid> {
  const roots = new Set<Cpid>()
  let seen = 0
  for (const page of queries.objects(object, undefined, HAPPENINGS)) {
    for (const { cascades } of page) for (const root of cascades) roots.add(root)
    seen += page.length
    if (seen >= HAPPENINGS) break
  }
  return roots
}
