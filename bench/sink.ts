import { Server, ServerCredentials } from '@grpc/grpc-js'
import { WireCursor } from '../src/otlp/wire-cursor.ts'
import { EXPORT_TRACES } from './export-method.ts'
import { cpuSeconds, epochMs, type FromSink, type ToSink } from './messages.ts'

const LARGEST_REQUEST = 64 * 1024 * 1024
const NOTHING = Buffer.alloc(0)

/** A process that stands for a backend: takes traces, counts spans, answers success. */
let spans = 0
let requests = 0
let bytes = 0
let expected = Infinity
/** When the last request came. */
let lastMs = 0

/** Spans of an ExportTraceServiceRequest, by walking length prefixes. */
function countSpans(request: Buffer): number {
  let count = 0
  const resource = new WireCursor(request)
  const scope = new WireCursor(request)
  const span = new WireCursor(request)
  while (resource.next()) {
    if (resource.field !== 1) continue
    scope.reset(resource.start, resource.end)
    while (scope.next()) {
      if (scope.field !== 2) continue
      span.reset(scope.start, scope.end)
      while (span.next()) if (span.field === 2) count++
    }
  }
  return count
}

function tell(message: FromSink): void {
  process.send?.(message)
}

function tellWhenReached(): void {
  if (spans < expected) return
  expected = Infinity
  tell({ kind: 'reached', atMs: lastMs })
}

const server = new Server({ 'grpc.max_receive_message_length': LARGEST_REQUEST })
server.addService(
  { export: EXPORT_TRACES },
  {
    export: (call: { request: Buffer }, answer: (error: null, reply: Buffer) => void) => {
      requests++
      lastMs = epochMs()
      bytes += call.request.length
      spans += countSpans(call.request)
      answer(null, NOTHING)
      tellWhenReached()
    },
  },
)
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error
  tell({ kind: 'ready', port })
})
process.on('message', (message: ToSink) => {
  if (message.kind === 'count')
    tell({ kind: 'counted', spans, lastMs, requests, bytes, cpuSeconds: cpuSeconds() })
  else {
    expected = message.spans
    tellWhenReached()
  }
})
process.on('disconnect', () => process.exit(0))
