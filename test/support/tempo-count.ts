import { WireCursor } from '../../src/model/otlp/protobuf-wire.ts'

interface Group {
  envelope: Uint8Array
  children: Uint8Array[]
}

const RESOURCE_OR_SCOPE = 1
const CHILDREN = 2
const TRACE_ID = 1

/**
 * What Tempo adds up for each trace (by its id in hex) of an ExportTraceServiceRequest: the spans of the trace, under each
 * scope they came with, and that under its resource again.
 */
export function bytesPerTrace(request: Buffer): Map<string, number> {
  const traces = new Map<string, number>()
  for (const resourceSpans of fields(request, 1)) {
    const { envelope: resource, children: scopes } = groupOf(resourceSpans)
    for (const scopeSpans of scopes) {
      const { envelope: scope, children: spans } = groupOf(scopeSpans)
      const spanBytes = new Map<string, number>()
      for (const span of spans) {
        const traceId = Buffer.from(fields(span, TRACE_ID)[0] ?? []).toString('hex')
        spanBytes.set(traceId, (spanBytes.get(traceId) ?? 0) + sizeOf(span.length))
      }
      for (const [traceId, bytes] of spanBytes) {
        const inScope = sizeOf(sizeOf(scope.length) + bytes)
        traces.set(traceId, (traces.get(traceId) ?? 0) + sizeOf(sizeOf(resource.length) + inScope))
      }
    }
  }
  return traces
}

function groupOf(bytes: Uint8Array): Group {
  return {
    envelope: fields(bytes, RESOURCE_OR_SCOPE).at(-1) ?? new Uint8Array(),
    children: fields(bytes, CHILDREN),
  }
}

function fields(bytes: Uint8Array, number: number): Uint8Array[] {
  const cursor = new WireCursor(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  const found: Uint8Array[] = []
  while (cursor.next()) if (cursor.field === number) found.push(bytes.subarray(cursor.start, cursor.end))
  return found
}

/** A length-delimited field of so many bytes, with its tag and length. */
function sizeOf(length: number): number {
  let digits = 1
  for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) digits++
  return 1 + digits + length
}
