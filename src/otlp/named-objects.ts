import { CPID_OBSERVED, CPID_WROTE } from '../model/attributes.ts'
import { mayBeCpidAttribute, readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const ATTRIBUTES = 9

/** The object references that a stored span says it observed and wrote, as it wrote them. */
export function namedObjects(span: Buffer): { observed: readonly string[]; wrote: readonly string[] } {
  const cursor = new WireCursor(span)
  let observed: readonly string[] = []
  let wrote: readonly string[] = []
  while (cursor.next()) {
    if (cursor.field !== ATTRIBUTES || !mayBeCpidAttribute(span, cursor.start, cursor.end)) continue
    const { key, value } = readAttribute(span, cursor.start, cursor.end)
    if (key === CPID_OBSERVED) observed = textsOf(value)
    else if (key === CPID_WROTE) wrote = textsOf(value)
  }
  return { observed, wrote }
}

function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}
