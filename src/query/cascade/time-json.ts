import type { UnixNanos } from '../../model/clock.ts'
import { spanIdHex } from '../../otlp/write/encode-span.ts'
import type {
  ClusterTimeAnswer,
  CriticalPath,
  HeldWithinAnswer,
  KindTimeAnswer,
  ServiceTimeAnswer,
} from '../answers/times.ts'
import type { PathStep } from './cascade-analysis.ts'
import { positionOfMost } from './step-times.ts'
import type { DominantSpan } from './dominant-spans.ts'
import { millis, rfc3339 } from '../../model/rfc3339.ts'
import { durationNs } from './span-times.ts'
import type { KindTime } from './time-per-kind.ts'
import type { ServiceTime } from './time-per-service.ts'

/** What a service did in a cascade, as the API shows it. */
export function serviceTimeJson(time: ServiceTime): ServiceTimeAnswer {
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

/** What a service did in one of the clusters of a cascade, as the API shows it. */
export function clusterTimeJson(time: ServiceTime): ClusterTimeAnswer {
  return { cluster: time.cluster ?? null, ...serviceTimeJson(time) }
}

/** What was done to objects of a kind, as the API shows it. */
export function kindTimeJson(time: KindTime): KindTimeAnswer {
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
export function pathJson(path: readonly PathStep[], startNs: UnixNanos): CriticalPath {
  return {
    durationMs: millis(path.reduce((sum, { waitNs, heldNs }) => sum + waitNs + heldNs, 0n)),
    longestStep: positionOfMost(path, ({ heldNs }) => heldNs) ?? null,
    longestWait: positionOfMost(path, ({ waitNs }) => waitNs) ?? null,
    steps: path.map(({ span, traceId, selfNs, waitNs, heldNs, mostly }) => ({
      spanId: spanIdHex(span.spanId),
      traceId: traceId.toString('hex'),
      service: span.service,
      name: span.name,
      offsetMs: millis(span.startNs - startNs),
      durationMs: millis(durationNs(span)),
      selfMs: millis(selfNs),
      waitMs: millis(waitNs),
      heldMs: millis(heldNs),
      mostly: mostly === undefined ? null : withinJson(mostly),
    })),
  }
}

function withinJson({ span, heldNs }: DominantSpan): HeldWithinAnswer {
  return {
    spanId: spanIdHex(span.spanId),
    service: span.service,
    name: span.name,
    heldMs: millis(heldNs),
  }
}
