import type { Span } from '../../../src/query/answer-schemas.ts'
import { FAILED } from '../cascade/span-rows.ts'
import { duration } from '../text/duration.ts'
import { seenWords } from '../text/seen-write.ts'

const WIDTH = 320

/** A tooltip for the span below the pointer. */
export function Pointed({ span, x, y }: { span: Span | undefined; x: number; y: number }) {
  if (span === undefined) return null
  const isRight = x > innerWidth - WIDTH
  const place = isRight ? { right: `${innerWidth - x + 12}px` } : { left: `${x + 12}px` }
  return (
    <div class="pointed" aria-hidden="true" style={{ ...place, top: `${y + 14}px` }}>
      <strong>{span.name}</strong>
      <span>{span.service}</span>
      {span.cause !== undefined && <span>{seenWords(span).join(', ')}</span>}
      <span>
        {duration(span.durationMs)}, from {duration(span.offsetMs)}
        {span.status === FAILED && ', failed'}
        {span.critical === true && ', on the critical path'}
        {span.beingPlaced === true && ', being placed'}
        {span.activity === false && ', driven by another change'}
      </span>
    </div>
  )
}

/** The same for a screen reader. */
export function spoken(span: Span): string {
  const { name, service, durationMs, offsetMs, critical, status } = span
  const parts = [
    name,
    service,
    ...seenWords(span),
    `takes ${duration(durationMs)}`,
    `begins at ${duration(offsetMs)}`,
  ]
  if (critical === true) parts.push('on the critical path')
  if (span.beingPlaced === true) parts.push('being placed')
  if (span.activity === false) parts.push('driven by another change')
  if (status === FAILED) parts.push('failed')
  return parts.join(', ')
}
