import type { Signal } from '../../src/model/otlp-requests.ts'
import { shuffled } from '../../lab/harness/seeded-random.ts'
import { protobufOfJson } from '../../src/model/otlp/json-to-protobuf.ts'
import {
  EXPORT_REQUEST,
  type Field,
  type MessageName,
  MESSAGES,
} from '../../src/model/otlp/message-schema.ts'
import { type Json, type JsonObject, jsonOfProtobuf } from '../../src/model/otlp/protobuf-to-json.ts'
import { WireCursor } from '../../src/model/otlp/protobuf-wire.ts'

const LENGTH = 2

export type Encoding = 'as it is' | 'other order' | 'with defaults' | 'JSON'
export const ENCODINGS: readonly Encoding[] = ['as it is', 'other order', 'with defaults', 'JSON']

/** The same request as another sender, or a Collector between, may encode it. */
export function encodedOtherwise(
  signal: Signal,
  bytes: Buffer,
  encoding: Encoding,
  random: () => number,
): Buffer {
  const message = EXPORT_REQUEST[signal]
  if (encoding === 'as it is') return bytes
  if (encoding === 'JSON')
    return Buffer.from(protobufOfJson(signal, Buffer.from(jsonOtherwise(signal, bytes, random))))
  return reencoded(message, bytes, { random, withDefaults: encoding === 'with defaults' })
}

/** The request as OTLP/JSON, its members and attributes in any order. */
export function jsonOtherwise(signal: Signal, bytes: Buffer, random: () => number): string {
  const message = EXPORT_REQUEST[signal]
  return JSON.stringify(shuffledMembers(message, jsonOfProtobuf(message, bytes), random))
}

/** Attributes and values of a map stand in any order; all else that is repeated stays in its own. */
const isUnordered = (field: Field): boolean => field.type === 'message' && field.message === 'KeyValue'

function shuffledMembers(name: MessageName, message: JsonObject, random: () => number): JsonObject {
  const members = MESSAGES[name].flatMap((field): [string, Json][] => {
    const value = message[field.name]
    if (value === undefined) return []
    const one = (json: Json): Json =>
      field.type === 'message' ? shuffledMembers(field.message, json as JsonObject, random) : json
    if (!Array.isArray(value)) return [[field.name, one(value)]]
    return [[field.name, (isUnordered(field) ? shuffled(random, value) : value).map(one)]]
  })
  return Object.fromEntries(shuffled(random, members))
}

interface Way {
  readonly random: () => number
  /** Defaults are written, as the Collector does. */
  readonly withDefaults: boolean
}

/** What the Collector writes of a message though it is empty. */
const WRITTEN_EMPTY: Partial<Record<MessageName, readonly number[]>> = {
  ResourceSpans: [1],
  ResourceLogs: [1],
  ScopeSpans: [1],
  ScopeLogs: [1],
  Span: [4, 15],
  LogRecord: [5, 9, 10],
}

function reencoded(name: MessageName, bytes: Buffer, way: Way): Buffer {
  const cursor = new WireCursor(bytes)
  const parts: { no: number; bytes: Buffer }[] = []
  while (cursor.next()) {
    const field = MESSAGES[name].find(({ no }) => no === cursor.field)
    const whole = bytes.subarray(cursor.tagAt, cursor.end)
    const inner = bytes.subarray(cursor.start, cursor.end)
    const part =
      field?.type === 'message' ? withLength(field.no, reencoded(field.message, inner, way)) : whole
    parts.push({ no: cursor.field, bytes: part })
  }
  const there = new Set(parts.map(({ no }) => no))
  const empty = way.withDefaults ? (WRITTEN_EMPTY[name] ?? []).filter((no) => !there.has(no)) : []
  for (const no of empty) parts.push({ no, bytes: withLength(no, Buffer.alloc(0)) })
  const mixed = shuffled(way.random, parts)
  for (const field of MESSAGES[name]) {
    if (field.occurs !== 'many' || isUnordered(field)) continue
    const inOrder = parts.filter(({ no }) => no === field.no)
    mixed.forEach(({ no }, at) => {
      const next = no === field.no ? inOrder.shift() : undefined
      if (next !== undefined) mixed[at] = next
    })
  }
  return Buffer.concat(mixed.map((part) => part.bytes))
}

function withLength(no: number, bytes: Buffer): Buffer {
  const head: number[] = [no * 8 + LENGTH]
  let rest = bytes.length
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) head.push((rest % 128) + 128)
  return Buffer.concat([Buffer.from([...head, rest]), bytes])
}
