import { CPID_ID, CPID_NEW, CPID_OBJECT, CPID_REASON, CPID_SOURCES } from '../../model/attributes.ts'
import type { MergelogRecord } from '../../model/arrivals.ts'
import type { ItemCount } from './item-count.ts'
import { mayBeCpidAttribute, readAttribute, type TextValue } from './read-attribute.ts'

/** How SDKs older than the event_name field name an event. */
export const EVENT_NAME_ATTRIBUTE = 'event.name'
const READ: ReadonlySet<string> = new Set([
  CPID_ID,
  CPID_NEW,
  CPID_OBJECT,
  CPID_REASON,
  CPID_SOURCES,
  EVENT_NAME_ATTRIBUTE,
])

/**
 * Those attributes of a log record or span event that something is decided by. Where a key is there more than once the first
 * counts, as in the backends.
 */
export class FirstAttributes {
  readonly #first = new Map<string, TextValue>()
  #repeated: Set<string> | undefined

  /** Reads the KeyValue at [start, end) if it may be one of them. */
  read(bytes: Buffer, start: number, end: number, count: ItemCount): void {
    if (!mayBeCpidAttribute(bytes, start, end) && bytes[start + 1] !== EVENT_NAME_ATTRIBUTE.length) return
    const { key, value } = readAttribute(bytes, start, end, count)
    if (READ.has(key)) this.#add(key, value)
  }

  #add(key: string, value: TextValue): void {
    if (this.#first.has(key)) (this.#repeated ??= new Set()).add(key)
    else this.#first.set(key, value)
  }

  has(key: string): boolean {
    return this.#first.has(key)
  }

  get(key: string): TextValue {
    return this.#first.get(key)
  }

  repeats(key: string): boolean {
    return this.#repeated?.has(key) === true
  }
}

/** Builds a mergelog from the attributes of a log record or span event; a value of the wrong type reads as ''. */
export function mergelogOf(attributes: FirstAttributes, timeNs: bigint): MergelogRecord {
  const sources = attributes.get(CPID_SOURCES)
  const repeated = [CPID_NEW, CPID_SOURCES].find((key) => attributes.repeats(key))
  return {
    newCpid: text(attributes.get(CPID_NEW)) ?? '',
    sources:
      typeof sources === 'string' ? [sources] : (sources ?? (attributes.has(CPID_SOURCES) ? [''] : [])),
    timeNs,
    object: text(attributes.get(CPID_OBJECT)),
    reason: text(attributes.get(CPID_REASON)),
    ...(repeated !== undefined && { repeated }),
  }
}

function text(value: TextValue): string | undefined {
  return typeof value === 'string' ? value : undefined
}
