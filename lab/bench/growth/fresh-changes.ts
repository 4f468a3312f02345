import { randomBytes, randomUUID } from 'node:crypto'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { text } from '../load/span-template.ts'

const CPIDS_PER_CHANGE = 6
const SPANS_PER_CPID = 3
const ITEMS_PER_REQUEST = 512
const CLUSTER = 'bench'

/** Changes that no database has seen: their mergelogs, then their spans. */
export interface FreshChanges {
  changes: number
  cpids: number
  spans: number
  mergelogRequests: Buffer[]
  spanRequests: Buffer[]
}

/** Each change is a root and a chain of five; the work of each CPID is a reconcile with two calls, in a trace of its own. */
export function freshChanges(changes: number, nowMs: number): FreshChanges {
  const records: unknown[] = []
  const spans: unknown[] = []
  const atNs = String(BigInt(nowMs) * 1_000_000n)
  for (let change = 0; change < changes; change++) {
    let source: string | undefined
    for (let at = 0; at < CPIDS_PER_CHANGE; at++) {
      const cpid = randomUUID()
      records.push(mergelogRecord({ cpid, sources: source === undefined ? [] : [source], atNs }))
      spans.push(...workOf(cpid, atNs))
      source = cpid
    }
  }
  return {
    changes,
    cpids: records.length,
    spans: spans.length,
    mergelogRequests: portions(records).map(logsRequest),
    spanRequests: portions(spans).map(tracesRequest),
  }
}

export function mergelogRecord(mergelog: {
  cpid: string
  sources: readonly string[]
  atNs: string
  object?: string
}): unknown {
  const { cpid, sources, atNs, object } = mergelog
  return {
    timeUnixNano: atNs,
    eventName: 'cpid.mergelog',
    attributes: [
      text('cpid.new', cpid),
      texts('cpid.sources', sources),
      ...(object === undefined ? [] : [text('cpid.object', object)]),
    ],
  }
}

/** A reconcile and two calls below it; `object` is what the second one wrote. */
export function workOf(cpid: string, atNs: string, object?: string): unknown[] {
  const traceId = randomBytes(16).toString('hex')
  const [top = '', ...others] = Array.from({ length: SPANS_PER_CPID }, () => randomBytes(8).toString('hex'))
  const endNs = String(BigInt(atNs) + 3_000_000n)
  const span = (spanId: string, name: string, more: unknown[]): Record<string, unknown> => ({
    traceId,
    spanId,
    name,
    kind: 1,
    startTimeUnixNano: atNs,
    endTimeUnixNano: endNs,
    attributes: [text('cpid.id', cpid), text('k8s.namespace.name', 'shop'), ...more],
  })
  return [
    ...others.map((spanId, at) => ({
      ...span(spanId, 'api update', object === undefined || at === 0 ? [] : [texts('cpid.wrote', [object])]),
      parentSpanId: top,
    })),
    span(top, 'reconcile', []),
  ]
}

export function logsRequest(logRecords: readonly unknown[]): Buffer {
  const request = {
    resourceLogs: [{ resource: resource(), scopeLogs: [{ scope: { name: 'bench' }, logRecords }] }],
  }
  return Buffer.from(protobufOfJson('logs', Buffer.from(JSON.stringify(request))))
}

export function tracesRequest(spans: readonly unknown[]): Buffer {
  const request = {
    resourceSpans: [{ resource: resource(), scopeSpans: [{ scope: { name: 'bench' }, spans }] }],
  }
  return Buffer.from(protobufOfJson('traces', Buffer.from(JSON.stringify(request))))
}

function resource(): unknown {
  return { attributes: [text('service.name', 'deployment-ctl'), text('k8s.cluster.name', CLUSTER)] }
}

export function texts(key: string, values: readonly string[]): unknown {
  return { key, value: { arrayValue: { values: values.map((value) => ({ stringValue: value })) } } }
}

function portions(items: readonly unknown[]): unknown[][] {
  return Array.from({ length: Math.ceil(items.length / ITEMS_PER_REQUEST) }, (_, at) =>
    items.slice(at * ITEMS_PER_REQUEST, (at + 1) * ITEMS_PER_REQUEST),
  )
}
