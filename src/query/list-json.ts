import type { Cpid } from '../model/merge-graph.ts'
import type { CausewayQueries, ListItem, Pages, Position, StoredRecord } from '../model/queries.ts'
import type { PageRequest } from './question.ts'
import { envelopeJson, recordJson } from './sent-span-json.ts'

/** `{"<name>":[...],"next":...}`, where `next` is null unless the limit cut something off. */
export function* listJson<T extends ListItem>(
  name: string,
  pages: Pages<T>,
  { limit }: PageRequest,
  toJson: (item: T) => unknown,
): Generator<string> {
  const cut = new LimitedPages(limit)
  yield `{"${name}":[`
  yield* elements(cut.take(pages), toJson)
  yield `],"next":${JSON.stringify(cut.next ?? null)}}`
}

/** `{"cpid":"...","<name>":["...",...]}` */
export function* cpidListJson(cpid: Cpid, name: string, pages: Pages<Cpid>): Generator<string> {
  yield `{"cpid":"${cpid}","${name}":[`
  let separator = ''
  for (const page of pages) {
    yield page.length === 0 ? '' : `${separator}"${page.join('","')}"`
    if (page.length > 0) separator = ','
  }
  yield ']}'
}

function* elements<T>(pages: Pages<T>, toJson: (item: T) => unknown): Generator<string> {
  let separator = ''
  for (const page of pages) {
    if (page.length === 0) {
      yield ''
      continue
    }
    yield separator + page.map((item) => JSON.stringify(toJson(item))).join(',')
    separator = ','
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
 * Stored records as OTLP/JSON, each as it was received, each page grouped by resource and scope: a resource that has
 * records in several pages comes several times, as OTLP allows. With a limit, `next` follows as in a list.
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
  for (const page of cut.take(pages)) {
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

/** By itself: a generator that waits holds whatever was used on the way to what it yields. */
function recordText(signal: 'spans' | 'logs', raw: Buffer): string {
  return JSON.stringify(recordJson(signal, raw))
}

/** The beginning of an envelope's JSON object up to the list that goes into it. */
function openedWith(message: Shape['group' | 'scope'], envelope: Buffer, list: string): string {
  const members = JSON.stringify(envelopeJson(message, envelope)).slice(1, -1)
  return `{${members}${members === '' ? '' : ','}"${list}":[`
}

/** Takes the first `limit` items of a list and remembers where it was cut. */
export class LimitedPages {
  /** The position after the list; undefined if it is complete. */
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

/** A position as an opaque cursor. */
export function encodeCursor(position: Position): string {
  return position.join('.')
}

/** The position of a cursor; undefined if it is invalid or has another number of parts. */
export function decodeCursor(cursor: string, parts: number): Position | undefined {
  if (!CURSOR.test(cursor)) return undefined
  const position = cursor.split('.').map(BigInt)
  const fits = position.length === parts && position.every((part) => part <= MAX && part >= -MAX - 1n)
  return fits ? position : undefined
}
