import type { Cpid } from '../model/merge-graph.ts'
import { envelopeBytes } from '../model/otlp/outgoing-records.ts'
import type { CausewayQueries, ListItem, Pages, Position, StoredRecord } from '../model/queries.ts'
import { MIB } from '../model/time-and-size.ts'
import type { PageRequest } from './question.ts'
import { envelopeJson, recordJson } from './sent-span-json.ts'

/** Writes `{"<name>":[...],"next":...}`. `next` is the cursor of the next page, or null. */
export function* listJson<T extends ListItem>(
  name: string,
  pages: Pages<T>,
  { limit }: PageRequest,
  toJson: (item: T) => unknown,
): Generator<string> {
  const cut = new LimitedPages(limit)
  yield `{"${name}":[`
  yield* commaSeparated(cut.take(pages), (page) => page.map((item) => JSON.stringify(toJson(item))).join(','))
  yield `],"next":${JSON.stringify(cut.next ?? null)}}`
}

/** Writes `{"cpid":"...","<name>":["...",...]}`. */
export function* cpidListJson(cpid: Cpid, name: string, pages: Pages<Cpid>): Generator<string> {
  yield `{"cpid":"${cpid}","${name}":[`
  yield* commaSeparated(pages, (page) => page.map((one) => `"${one}"`).join(','))
  yield ']}'
}

/** The texts of items with commas between them; an item without one is a turn in which nothing comes. */
export function* commaSeparated<T>(items: Iterable<T>, textOf: (item: T) => string): Generator<string> {
  let separator = ''
  for (const item of items) {
    const text = textOf(item)
    yield text === '' ? '' : separator + text
    if (text !== '') separator = ','
  }
}

interface Shape {
  groups: string
  group: 'ResourceSpans' | 'ResourceLogs'
  scopes: string
  scope: 'ScopeSpans' | 'ScopeLogs'
  records: string
}

const SHAPES: Record<'spans' | 'logs', Shape> = {
  spans: {
    groups: 'resourceSpans',
    group: 'ResourceSpans',
    scopes: 'scopeSpans',
    scope: 'ScopeSpans',
    records: 'spans',
  },
  logs: {
    groups: 'resourceLogs',
    group: 'ResourceLogs',
    scopes: 'scopeLogs',
    scope: 'ScopeLogs',
    records: 'logRecords',
  },
}

/**
 * Stored records as OTLP/JSON, each as it was received. The records of a page are grouped by resource and scope, so a resource with records
 * in several pages comes several times, as OTLP allows. With a limit, `next` follows as in a list.
 */
export function* recordsJson(
  signal: 'spans' | 'logs',
  pages: Pages<StoredRecord>,
  { limit }: PageRequest,
  queries: Pick<CausewayQueries, 'envelopes'>,
): Generator<string> {
  const shape = SHAPES[signal]
  const cut = new LimitedPages(limit)
  let separator = ''
  yield `{"${shape.groups}":[`
  for (const page of withFewEnvelopes(cut.take(pages), queries)) {
    yield ''
    for (const resource of groupByResource(page, queries)) {
      yield separator
      yield* resourceJson(signal, shape, resource)
      separator = ','
    }
  }
  yield limit === undefined ? ']}' : `],"next":${JSON.stringify(cut.next ?? null)}}`
}

interface ResourceRecords {
  envelope: Buffer
  scopes: Map<number, { envelope: Buffer; records: StoredRecord[] }>
}

function groupByResource(
  page: readonly StoredRecord[],
  queries: Pick<CausewayQueries, 'envelopes'>,
): Iterable<ResourceRecords> {
  const resources = new Map<number, ResourceRecords>()
  for (const record of page) {
    const envelopes = queries.envelopes(record.scope) ?? NO_ENVELOPES
    let resource = resources.get(envelopes.resourceId)
    if (resource === undefined) {
      resource = { envelope: envelopes.resource, scopes: new Map() }
      resources.set(envelopes.resourceId, resource)
    }
    const scope = resource.scopes.get(record.scope)
    if (scope !== undefined) scope.records.push(record)
    else resource.scopes.set(record.scope, { envelope: envelopes.scope, records: [record] })
  }
  return resources.values()
}

const NO_ENVELOPES = { resourceId: 0, resource: Buffer.alloc(0), scope: Buffer.alloc(0) }

function* resourceJson(signal: 'spans' | 'logs', shape: Shape, resource: ResourceRecords): Generator<string> {
  yield openedWith(shape.group, resource.envelope, shape.scopes)
  let scopeSeparator = ''
  for (const { envelope, records } of resource.scopes.values()) {
    yield scopeSeparator + openedWith(shape.scope, envelope, shape.records)
    scopeSeparator = ','
    let separator = ''
    for (const record of records) {
      yield separator + recordText(signal, record.raw)
      separator = ','
    }
    yield ']}'
  }
  yield ']}'
}

/** The most bytes of the envelopes of a page, unless a single one is larger. */
const MOST_BYTES = 2 * MIB

/**
 * The same pages, divided where their resources and scopes are large: these may be as long as a request, and those of a page are held
 * together.
 */
export function* withFewEnvelopes<T extends { readonly scope: number }>(
  pages: Pages<T>,
  queries: Pick<CausewayQueries, 'envelopes'>,
): Generator<readonly T[]> {
  const bytesOf = (scope: number): number => {
    const envelopes = queries.envelopes(scope)
    return envelopes === undefined ? 0 : envelopeBytes(envelopes)
  }
  for (const page of pages) {
    const byScope = Map.groupBy(page, ({ scope }) => scope)
    let [part, bytes, isDivided]: [T[], number, boolean] = [[], 0, false]
    // Each part shows its resources again: those of one come together.
    for (const [scope, items] of byScope) {
      const more = bytesOf(scope)
      if (part.length > 0 && bytes + more > MOST_BYTES) {
        yield part
        ;[part, bytes, isDivided] = [[], 0, true]
      }
      part.push(...items)
      bytes += more
    }
    yield isDivided ? part : page
  }
}

/** By itself: a generator that waits holds whatever was used on the way to what it yields. */
function recordText(signal: 'spans' | 'logs', raw: Buffer): string {
  return JSON.stringify(recordJson(signal, raw))
}

/** The JSON object of an envelope, up to the opening bracket of `list`. */
function openedWith(message: Shape['group' | 'scope'], envelope: Buffer, list: string): string {
  const members = JSON.stringify(envelopeJson(message, envelope)).slice(1, -1)
  return `{${members}${members === '' ? '' : ','}"${list}":[`
}

/** Takes the first `limit` items of a list. */
export class LimitedPages {
  /** The cursor of the next page; undefined if there is none. */
  next: string | undefined
  readonly #limit: number

  constructor(limit = Infinity) {
    this.#limit = limit
  }

  *take<T extends ListItem>(pages: Pages<T>): Generator<readonly T[]> {
    let left = this.#limit
    let last: T | undefined
    for (const page of pages) {
      if (page.length > left) {
        yield page.slice(0, left)
        last = page[left - 1] ?? last
        this.next = last && encodeCursor(last.position)
        return
      }
      yield page
      left -= page.length
      last = page.at(-1) ?? last
    }
  }
}

const CURSOR = /^-?\d{1,19}(?:\.-?\d{1,19})*$/
const MAX = 2n ** 63n - 1n

/** Encodes a position as an opaque cursor. */
export function encodeCursor(position: Position): string {
  return position.join('.')
}

/** Decodes a cursor; undefined if it is malformed, or has another number of parts. */
export function decodeCursor(cursor: string, parts: number): Position | undefined {
  if (!CURSOR.test(cursor)) return undefined
  const position = cursor.split('.').map(BigInt)
  const fits = position.length === parts && position.every((part) => part <= MAX && part >= -MAX - 1n)
  return fits ? position : undefined
}
