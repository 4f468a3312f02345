import { Server, ServerCredentials } from '@grpc/grpc-js'
import { WireCursor } from '../../src/otlp/wire-cursor.ts'
import { EXPORT_TRACES } from '../export-method.ts'
import { cpuSeconds, epochMs } from '../messages.ts'
import type { FromAnchorSink, ToAnchorSink } from './messages.ts'
import { SPAN_ID_PREFIX } from './pod-change.ts'

const LARGEST_REQUEST = 64 * 1024 * 1024
const NOTHING = Buffer.alloc(0)
const SPAN_ID_FIELD = 2
const COPY = Buffer.from('cpid.copy')

/** A process that stands for a backend and knows every span that it is to receive. */
let firstSpan = 0
let timesCame = new Uint8Array(0)
let cameMs = new Float64Array(0)
let came = 0
let repeated = 0
let copies = 0
let added = 0
let isToTell = false

function take(request: Buffer): void {
  const atMs = epochMs()
  const resource = new WireCursor(request)
  const scope = new WireCursor(request)
  const spans = new WireCursor(request)
  while (resource.next()) {
    if (resource.field !== 1) continue
    scope.reset(resource.start, resource.end)
    while (scope.next()) {
      if (scope.field !== 2) continue
      spans.reset(scope.start, scope.end)
      while (spans.next()) if (spans.field === 2) takeSpan(request, spans.start, spans.end, atMs)
    }
  }
}

function takeSpan(request: Buffer, start: number, end: number, atMs: number): void {
  const fields = new WireCursor(request)
  fields.reset(start, end)
  while (fields.next() && fields.field !== SPAN_ID_FIELD);
  if (request.readUInt32BE(fields.start) !== SPAN_ID_PREFIX) {
    added++
    return
  }
  if (request.subarray(start, end).includes(COPY)) {
    copies++
    return
  }
  const number = request.readUInt32BE(fields.start + 4) - firstSpan
  const times = timesCame[number]
  if (times === undefined) return
  if (times === 0) {
    came++
    if (number < cameMs.length) cameMs[number] = atMs
  } else repeated++
  timesCame[number] = Math.min(255, times + 1)
}

function tellWhenReached(): void {
  if (!isToTell || came < timesCame.length) return
  isToTell = false
  tell({ kind: 'reached', atMs: epochMs() })
}

function tell(message: FromAnchorSink): void {
  process.send?.(message)
}

const server = new Server({ 'grpc.max_receive_message_length': LARGEST_REQUEST })
server.addService(
  { export: EXPORT_TRACES },
  {
    export: (call: { request: Buffer }, answer: (error: null, reply: Buffer) => void) => {
      take(call.request)
      answer(null, NOTHING)
      tellWhenReached()
    },
  },
)
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  tell({ kind: 'ready', port })
})
process.on('message', (message: ToAnchorSink) => {
  if (message.kind === 'count') {
    const counts = { came, repeated, copies, added, cpuSeconds: cpuSeconds() }
    tell({ kind: 'counted', ...counts, cameMs: [...cameMs] })
    return
  }
  firstSpan = message.firstSpan
  timesCame = new Uint8Array(message.spans)
  cameMs = new Float64Array(message.keepsTimes ? message.spans : 0)
  came = repeated = copies = added = 0
  isToTell = true
  tellWhenReached()
})
process.on('disconnect', () => process.exit(0))
