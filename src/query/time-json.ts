import type { UnixNanos } from '../model/clock.ts'
import { spanIdHex } from '../otlp/encode-span.ts'
import type { PathStep } from './cascade-analysis.ts'
import { millis, rfc3339 } from './rfc3339.ts'
import { durationNs } from './span-times.ts'
import type { KindTime } from './time-per-kind.ts'
import type { ServiceTime } from './time-per-service.ts'

/** What a service did in a cascade, as the API shows it. */
export function serviceTimeJson(time: ServiceTime) {
  return {
    service: time.service,
    totalMs: millis(time.totalNs),
    selfMs: millis(time.selfNs),
    waitMs: millis(time.waitNs),
    spans: time.spans,
    errors: time.errors,
    firstStart: rfc3339(time.firstNs),
    lastEnd: rfc3339(time.lastNs),
  }
}

/** What was done to objects of a kind, as the API shows it. */
export function kindTimeJson(time: KindTime) {
  return {
    kind: time.kind,
    totalMs: millis(time.totalNs),
    selfMs: millis(time.selfNs),
    waitMs: millis(time.waitNs),
    spans: time.spans,
    writes: time.writes,
    objects: time.objects,
  }
}

/** The critical path as the API shows it; offsets count from the start of the cascade. */
export function pathJson(path: readonly PathStep[], startNs: UnixNanos) {
  const first = path[0]?.span.startNs ?? 0n
  const last = path.at(-1)?.span.endNs ?? 0n
  return {
    durationMs: millis(last > first ? last - first : 0n),
    steps: path.map(({ span, traceId, selfNs, waitNs }) => ({
      spanId: spanIdHex(span.spanId),
      traceId: traceId.toString('hex'),
      service: span.service,
      name: span.name,
      offsetMs: millis(span.startNs - startNs),
      durationMs: millis(durationNs(span)),
      selfMs: millis(selfNs),
      waitMs: millis(waitNs),
    })),
  }
}
