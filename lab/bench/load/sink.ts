import { eachSpan } from './each-span.ts'
import { cpuSeconds, epochMs, type FromSink, type ToSink } from './messages.ts'
import { serveTraces } from './serve-traces.ts'

/** A process that stands for a backend: takes traces, counts spans, answers success. */
let spans = 0
let requests = 0
let bytes = 0
let expected = Infinity
/** When the last request came. */
let lastMs = 0

function take(request: Buffer): void {
  requests++
  lastMs = epochMs()
  bytes += request.length
  eachSpan(request, countSpan)
}

function countSpan(): void {
  spans++
}

function tell(message: FromSink): void {
  process.send?.(message)
}

function tellWhenReached(): void {
  if (spans < expected) return
  expected = Infinity
  tell({ kind: 'reached', atMs: lastMs })
}

serveTraces(take, tellWhenReached, (port) => tell({ kind: 'ready', port }))
process.on('message', (message: ToSink) => {
  if (message.kind === 'count')
    tell({ kind: 'counted', spans, lastMs, requests, bytes, cpuSeconds: cpuSeconds() })
  else {
    expected = message.spans
    tellWhenReached()
  }
})
process.on('disconnect', () => process.exit(0))
