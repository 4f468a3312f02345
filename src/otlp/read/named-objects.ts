import { CPID_OBSERVED, CPID_WROTE } from '../../model/attributes.ts'
import { MalformedOtlp } from './malformed.ts'
import { mayBeCpidAttribute, readAttribute } from './read-attribute.ts'
import { WireCursor } from './wire-cursor.ts'

const ATTRIBUTES = 9

interface NamedObjects {
  observed?: readonly string[]
  wrote?: readonly string[]
}

/** The object references that a stored span says it observed and wrote, as it wrote them; as far as it can be read. */
export function namedObjects(span: Buffer): Required<NamedObjects> {
  const named: NamedObjects = {}
  try {
    readInto(named, span)
  } catch (error) {
    if (!(error instanceof MalformedOtlp)) throw error
  }
  return { observed: named.observed ?? [], wrote: named.wrote ?? [] }
}

function readInto(named: NamedObjects, span: Buffer): void {
  const cursor = new WireCursor(span)
  while (cursor.next()) {
    if (cursor.field !== ATTRIBUTES || !mayBeCpidAttribute(span, cursor.start, cursor.end)) continue
    const { key, value } = readAttribute(span, cursor.start, cursor.end)
    if (key === CPID_OBSERVED) named.observed ??= textsOf(value)
    else if (key === CPID_WROTE) named.wrote ??= textsOf(value)
  }
}

function textsOf(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}
