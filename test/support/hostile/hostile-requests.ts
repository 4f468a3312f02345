import type { Signal } from '../../../src/model/otlp-requests.ts'
import {
  EXPORT_REQUEST,
  type Field,
  type MessageName,
  MESSAGES,
} from '../../../src/model/otlp/message-schema.ts'
import { fieldHeader } from '../../../src/model/otlp/outgoing-records.ts'
import type { Encoding } from '../../../src/model/otlp/responses.ts'

/** What is sent too much of: fields with nothing in them, fields that are just taken, one large field, or fields within fields. */
type Excess = 'empty' | 'smallest' | 'large' | 'deep'

export interface HostileRequest {
  readonly name: string
  readonly signal: Signal
  readonly encoding: Encoding
  readonly excess: Excess
  /** A request of about so many bytes. */
  bytes(size: number): Buffer
}

type Members = Readonly<Record<string, unknown>>

const IDS = { traceId: '0a'.repeat(16), spanId: '0b'.repeat(8) }

/** Of whom points are kept. */
const POD = { attributes: [{ key: 'k8s.pod.uid', value: { stringValue: 'a' } }] }

/** What a message needs so that it is looked into, and so that it is kept. */
const NEEDED: Partial<Record<MessageName, Members>> = {
  Span: IDS,
  LogRecord: { eventName: 'cpid.mergelog' },
  Metric: { name: 'k8s.pod.cpu.usage' },
  ResourceMetrics: { resource: POD },
  NumberDataPoint: { asDouble: 1 },
  Event: { name: 'cpid.mergelog' },
}
const SMALLEST: Partial<Record<MessageName, Members>> = {
  ...NEEDED,
  ResourceSpans: { scopeSpans: [{ spans: [IDS] }] },
  ScopeSpans: { spans: [IDS] },
  ResourceLogs: { scopeLogs: [{ logRecords: [{}] }] },
  ScopeLogs: { logRecords: [{}] },
  ScopeMetrics: { metrics: [{ gauge: { dataPoints: [{}] } }] },
  Link: IDS,
  KeyValue: { key: 'cpid.id', value: { stringValue: '' } },
  AnyValue: { stringValue: '' },
}

/** Attributes that something reads, by the message in which they stand; one more that nobody does. */
const KEYS: Partial<Record<MessageName, readonly string[]>> = {
  Resource: ['service.name', 'k8s.cluster.name', 'k8s.pod.uid', 'x'],
  Span: ['cpid.id', 'cpid.observed', 'cpid.wrote', 'cpid.cause', 'user.name', 'x'],
  Event: ['cpid.new', 'cpid.sources', 'cpid.object', 'cpid.reason'],
  LogRecord: ['cpid.id', 'cpid.new', 'cpid.sources', 'cpid.object', 'cpid.reason', 'event.name'],
}

interface Step {
  readonly field: Field
  /** What stands beside it in its message. */
  readonly beside: Members
  readonly of: MessageName
}

/** Every repeated and every length-delimited field of the requests of a signal, each with what may be sent too much of. */
export function hostileRequests(signal: Signal, encoding: Encoding): HostileRequest[] {
  const found: HostileRequest[] = []
  const add = (steps: readonly Step[], excess: Excess, label: string): void => {
    const bytes = (size: number): Buffer =>
      encoding === 'json' ? jsonOf(steps, excess, size) : protobufOf(steps, excess, size)
    found.push({ name: `${signal} ${encoding} ${excess} ${label}`, signal, encoding, excess, bytes })
  }
  walk(EXPORT_REQUEST[signal], [], '', add)
  return found
}

function walk(
  of: MessageName,
  steps: readonly Step[],
  label: string,
  add: (steps: readonly Step[], excess: Excess, label: string) => void,
): void {
  for (const field of MESSAGES[of]) {
    if (!isLengthDelimited(field)) continue
    const keys = of === 'KeyValue' ? keysIn(steps) : ['']
    for (const key of keys) {
      const beside = of === 'KeyValue' && field.name !== 'key' ? { key } : (NEEDED[of] ?? {})
      const others = Object.fromEntries(Object.entries(beside).filter(([name]) => name !== field.name))
      const path = [...steps, { field, beside: others, of }]
      const named = `${label}${key === '' ? '' : `[${key}]`}.${field.name}`
      add(path, 'empty', named)
      if (field.type === 'scalar') {
        add(path, 'large', named)
        continue
      }
      if (SMALLEST[field.message] !== undefined) add(path, 'smallest', named)
      if (field.message === 'AnyValue' && of !== 'ArrayValue') add(path, 'deep', named)
      if (!steps.some((step) => step.of === field.message)) walk(field.message, path, named, add)
    }
  }
}

function isLengthDelimited(field: Field): boolean {
  return field.type === 'message' || ['string', 'bytes', 'hexBytes'].includes(field.kind)
}

/** Of the message whose attributes a KeyValue is one of. */
function keysIn(steps: readonly Step[]): readonly string[] {
  const { of } = steps.at(-1) ?? {}
  return (of && KEYS[of]) ?? ['x']
}

function protobufOf(steps: readonly Step[], excess: Excess, size: number): Buffer {
  const { field } = steps.at(-1) ?? fail()
  let bytes = excessOf(field, excess, size)
  for (let at = steps.length - 1; at >= 0; at--) {
    const { of, beside } = steps[at] ?? fail()
    bytes = Buffer.concat([encoded(of, beside), bytes])
    const outer = steps[at - 1]?.field
    if (outer !== undefined) bytes = Buffer.concat([fieldHeader(outer.no, bytes.length), bytes])
  }
  return bytes
}

function excessOf(field: Field, excess: Excess, size: number): Buffer {
  const item = excess === 'smallest' && field.type === 'message' ? SMALLEST[field.message] : undefined
  switch (excess) {
    case 'large':
      return Buffer.concat([fieldHeader(field.no, size), Buffer.alloc(size, 'x')])
    case 'deep': {
      const deep = deepValue(size)
      return Buffer.concat([fieldHeader(field.no, deep.length), deep])
    }
    case 'empty':
    case 'smallest': {
      const content =
        item === undefined || field.type !== 'message' ? Buffer.alloc(0) : encoded(field.message, item)
      const one = Buffer.concat([fieldHeader(field.no, content.length), content])
      return Buffer.alloc(Math.floor(size / one.length) * one.length, one)
    }
  }
}

/** An AnyValue of lists in one another. */
function deepValue(size: number): Buffer {
  const parts: Buffer[] = []
  for (let length = 0; length < size;) {
    for (const number of [1, 5]) {
      const header = fieldHeader(number, length)
      parts.push(header)
      length += header.length
    }
  }
  return Buffer.concat(parts.reverse())
}

/** A message of texts, ids and messages. */
function encoded(of: MessageName, members: Members): Buffer {
  const parts = Object.entries(members).flatMap(([name, value]) => {
    const field = MESSAGES[of].find((known) => known.name === name) ?? fail()
    return (Array.isArray(value) ? value : [value]).map((one: unknown) => {
      const content =
        field.type === 'message'
          ? encoded(field.message, one as Members)
          : Buffer.from(String(one), field.kind === 'hexBytes' ? 'hex' : 'utf8')
      return Buffer.concat([fieldHeader(field.no, content.length), content])
    })
  })
  return Buffer.concat(parts)
}

const LIST = { begins: '{"arrayValue":{"values":[', ends: ']}}' }

function jsonOf(steps: readonly Step[], excess: Excess, size: number): Buffer {
  const { field } = steps.at(-1) ?? fail()
  let bytes = jsonExcessOf(field, excess, size)
  for (let at = steps.length - 1; at >= 0; at--) {
    const { beside } = steps[at] ?? fail()
    const members = JSON.stringify(beside).slice(1, -1)
    bytes = Buffer.concat([Buffer.from(`{${members}${members === '' ? '' : ','}`), bytes, Buffer.from('}')])
    const outer = steps[at - 1]?.field
    if (outer !== undefined) {
      const [begins, ends] = outer.occurs === 'many' ? ['[', ']'] : ['', '']
      bytes = Buffer.concat([Buffer.from(`"${outer.name}":${begins}`), bytes, Buffer.from(ends)])
    }
  }
  return bytes
}

function jsonExcessOf(field: Field, excess: Excess, size: number): Buffer {
  const named = (text: Buffer, isList = field.occurs === 'many'): Buffer =>
    Buffer.concat([Buffer.from(`"${field.name}":${isList ? '[' : ''}`), text, Buffer.from(isList ? ']' : '')])
  const times = (text: string): Buffer => {
    const one = Buffer.from(`${text},`)
    return Buffer.alloc(Math.max(1, Math.floor(size / one.length)) * one.length, one).subarray(0, -1)
  }
  switch (excess) {
    case 'large':
      return named(Buffer.from(`"${'a'.repeat(size - (size % 4))}"`))
    case 'deep': {
      const levels = Math.ceil(size / (LIST.begins.length + LIST.ends.length))
      return named(Buffer.from(LIST.begins.repeat(levels) + LIST.ends.repeat(levels)))
    }
    case 'empty':
    case 'smallest': {
      const item = excess === 'smallest' && field.type === 'message' ? SMALLEST[field.message] : {}
      const one = field.type === 'scalar' ? '""' : JSON.stringify(item)
      return field.occurs === 'many' ? named(times(one)) : times(named(Buffer.from(one)).toString())
    }
  }
}

function fail(): never {
  throw new Error('there is no such field')
}
