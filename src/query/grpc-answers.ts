import { buildRequest, fieldHeader, sentSpan, type ReadyItem } from '../model/otlp/outgoing-records.ts'
import type { Json, JsonObject } from '../model/otlp/protobuf-to-json.ts'
import type { OutboxItem } from '../model/outbox.ts'
import type { CausewayQueries, Pages } from '../model/queries.ts'
import { MIB } from '../model/time-and-size.ts'
import { bytesOfMessage, type MessageName } from './grpc-messages.ts'
import { foundTraces, sentInto } from './jaeger-json.ts'
import { withFewEnvelopes } from './list-json.ts'
import { jsonObjectsOf, jsonTextOf } from './sent-span-json.ts'
import type { TraceSearch } from './trace-search.ts'

/** The gRPC message of a JSON answer. */
export interface GrpcShape {
  readonly message: MessageName
  /** The repeated field that may be divided among several messages; absent, the answer is one message. */
  readonly list?: string
  /** Whether progress messages are sent. */
  readonly tellsProgress?: boolean
  /** Whether an incomplete answer would be wrong, so that the call fails instead. */
  readonly isWholeOrRefused?: boolean
}

/** How an answer ended: what it lacks, and whether the call fails for that. */
export interface GrpcEnd {
  readonly lacks?: string
  readonly isRefused?: boolean
}

/** The header of a frame: a byte, 0 for a gRPC message, and the length of the payload in four bytes. */
export const FRAME_HEADER_BYTES = 5
/** The first byte of the last frame: it holds a GrpcEnd in JSON. */
export const END_FRAME = 0x80
/** The aimed size of a message. Clients accept 4 MiB by default. */
const MESSAGE_BYTES = MIB
const PROGRESS_MS = 1_000

function frame(bytes: Buffer, first = 0): string {
  const header = Buffer.alloc(FRAME_HEADER_BYTES)
  header.writeUInt8(first)
  header.writeUInt32BE(bytes.length, 1)
  return header.toString('latin1') + bytes.toString('latin1')
}

const endFrame = (end: GrpcEnd): string => frame(Buffer.from(JSON.stringify(end)), END_FRAME)

/** Divides a JSON answer into frames of gRPC messages. */
export function* inFrames(
  pieces: Iterable<string>,
  shape: GrpcShape,
  nowMs: () => number,
): Generator<string> {
  const parts: string[] = []
  let saidMs = nowMs()
  for (const piece of pieces) {
    parts.push(piece)
    const isLate = shape.tellsProgress === true && nowMs() - saidMs >= PROGRESS_MS
    if (isLate) saidMs = nowMs()
    yield isLate ? frame(bytesOfMessage(shape.message, { metrics: { totalJobs: 1 } })) : ''
  }
  const answer = JSON.parse(parts.join('')) as JsonObject
  const lacks = lackOf(answer)
  if (lacks !== undefined && shape.isWholeOrRefused === true) {
    yield endFrame({ lacks, isRefused: true })
    return
  }
  yield* divided(answer, shape)
  yield endFrame(lacks === undefined ? {} : { lacks })
}

function lackOf(answer: JsonObject): string | undefined {
  if (answer['status'] === 'PARTIAL') return jsonTextOf(answer['message'])
  const [error] = jsonObjectsOf(answer['errors'])
  return error && jsonTextOf(error['msg'])
}

function* divided(answer: JsonObject, { message, list }: GrpcShape): Generator<string> {
  if (list === undefined) {
    yield frame(bytesOfMessage(message, answer))
    return
  }
  const { [list]: items, ...rest } = answer
  let [part, length]: [Buffer[], number] = [[], 0]
  for (const item of (items as Json[] | undefined) ?? []) {
    const bytes = bytesOfMessage(message, { [list]: [item] })
    if (length > 0 && length + bytes.length > MESSAGE_BYTES) {
      yield frame(Buffer.concat(part))
      ;[part, length] = [[], 0]
    }
    part.push(bytes)
    length += bytes.length
  }
  yield frame(Buffer.concat([...part, bytesOfMessage(message, rest)]))
}

/** Writes a trace as TracesData messages. The first one carries `warning`. */
export function* storageTraceFrames(
  queries: CausewayQueries,
  pages: Pages<OutboxItem>,
  warning?: string,
): Generator<string> {
  let left = warning
  for (const page of withFewEnvelopes(pages, queries)) {
    const spans = page.flatMap((item): ReadyItem[] => {
      const bytes = sentSpan(item)
      if (bytes === undefined) return []
      const told = left === undefined ? bytes : withWarning(bytes, left)
      left = undefined
      return [{ scope: item.scope, bytes: told }]
    })
    yield spans.length === 0 ? '' : frame(buildRequest(spans, queries))
  }
}

/** The whole traces that a search finds. If the search is incomplete, each trace carries a warning; an empty answer fails instead. */
export function* storageSearchFrames(
  queries: CausewayQueries,
  search: TraceSearch,
  nowMs: () => number,
): Generator<string> {
  const { traces, effort } = yield* foundTraces(queries, search, nowMs)
  const { lacks } = effort
  for (const traceId of traces) yield* storageTraceFrames(queries, sentInto(queries, traceId), lacks)
  if (lacks !== undefined) yield endFrame({ lacks, isRefused: traces.length === 0 })
}

const ATTRIBUTES = 9
/** Jaeger shows the list under this attribute as warnings of the trace. */
const WARNINGS = '@jaeger@warnings'

function withWarning(span: Buffer, text: string): Buffer {
  const warnings = { arrayValue: { values: [{ stringValue: `incomplete search: ${text}` }] } }
  const attribute = bytesOfMessage('KeyValue', { key: WARNINGS, value: warnings })
  return Buffer.concat([span, fieldHeader(ATTRIBUTES, attribute.length), attribute])
}
