import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'
import { eachSpan } from '../load/each-span.ts'
import { cpuSeconds, epochMs } from '../load/messages.ts'
import { serveTraces } from '../load/serve-traces.ts'
import type { FromAnchorSink, ToAnchorSink } from './messages.ts'
import { SPAN_ID_PREFIX } from './pod-change.ts'

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
  eachSpan(request, (start, end) => takeSpan(request, start, end, atMs))
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

serveTraces(take, tellWhenReached, (port) => tell({ kind: 'ready', port }))
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
