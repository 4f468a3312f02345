import { CPID_NEW, CPID_OBJECT, CPID_REASON, CPID_SOURCES } from '../model/attributes.ts'
import type { MergelogRecord } from '../model/arrivals.ts'
import type { TextValue } from './read-attribute.ts'

/** Builds a mergelog from the attributes of a log record or span event; a value of the wrong type reads as ''. */
export function mergelogOf(attributes: ReadonlyMap<string, TextValue>, timeNs: bigint): MergelogRecord {
  const sources = attributes.get(CPID_SOURCES)
  return {
    newCpid: text(attributes.get(CPID_NEW)) ?? '',
    sources:
      typeof sources === 'string' ? [sources] : (sources ?? (attributes.has(CPID_SOURCES) ? [''] : [])),
    timeNs,
    object: text(attributes.get(CPID_OBJECT)),
    reason: text(attributes.get(CPID_REASON)),
  }
}

function text(value: TextValue): string | undefined {
  return typeof value === 'string' ? value : undefined
}
