import { WireCursor } from '../../../src/model/otlp/protobuf-wire.ts'

/** Visits the spans of an ExportTraceServiceRequest, by walking length prefixes, each from `start` to `end`. */
export function eachSpan(request: Buffer, visit: (start: number, end: number) => void): void {
  const resource = new WireCursor(request)
  const scope = new WireCursor(request)
  const span = new WireCursor(request)
  while (resource.next()) {
    if (resource.field !== 1) continue
    scope.reset(resource.start, resource.end)
    while (scope.next()) {
      if (scope.field !== 2) continue
      span.reset(scope.start, scope.end)
      while (span.next()) if (span.field === 2) visit(span.start, span.end)
    }
  }
}
