import type { CausewayQueries, Pages, StoredRecord } from '../model/ports/query-port.ts'
import { PageCut } from './page-cut.ts'
import type { Part } from './question.ts'
import { envelopeJson, recordJson } from './record-json.ts'

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
  { limit }: Part,
  queries: Pick<CausewayQueries, 'envelopes'>,
): Generator<string> {
  const shape = SHAPES[signal]
  const cut = new PageCut(limit)
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
