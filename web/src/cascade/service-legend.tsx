import type { Span } from '../../../src/query/answer-schemas.ts'
import { ServiceMark } from '../parts/service-mark.tsx'
import { FAILED } from './span-rows.ts'
import { CAUSES, GAP } from '../text/seen-write.ts'

const SHOWN = 12

/** The explanations for writes that inference observed. */
const SEEN = {
  operator: 'by an operator',
  self: 'begun by itself',
  exact: 'cause known',
  inferred: 'cause inferred',
} as const

/** Which colour stands for which service, and how the critical path is marked. */
export function ServiceLegend({ services, spans }: { services: readonly string[]; spans: readonly Span[] }) {
  const causes = new Set(spans.map(({ cause }) => cause))
  const hasBeingPlaced = spans.some(({ beingPlaced }) => beingPlaced)
  const hasGaps = spans.some(({ gap }) => gap)
  return (
    <ul class="legend" aria-label="Colours">
      {services.slice(0, SHOWN).map((service) => (
        <li key={service}>
          <ServiceMark service={service} />
        </li>
      ))}
      {services.length > SHOWN && <li class="muted">and {services.length - SHOWN} more</li>}
      {spans.some(({ activity }) => activity === false) && (
        <li class="service-mark">
          <span class="cause-swatch of-other" aria-hidden="true" />
          driven by another change, and not counted here
        </li>
      )}
      {spans.some(({ synthetic }) => synthetic) && (
        <li class="service-mark">
          <span aria-hidden="true">◆</span>a change began or merged
        </li>
      )}
      <li class="service-mark">
        <span aria-hidden="true">—</span>
        the time until the spans that it caused began
      </li>
      <li class="service-mark">
        <span class="critical-swatch" aria-hidden="true" />
        critical path
      </li>
      {spans.some(({ status }) => status === FAILED) && (
        <li class="service-mark">
          <span class="cause-swatch failed" aria-hidden="true" />
          failed
        </li>
      )}
      {(['operator', 'self', 'exact', 'inferred'] as const).map(
        (cause) =>
          causes.has(cause) && (
            <li key={cause} class="service-mark" title={CAUSES[cause]}>
              <span class={`cause-swatch ${cause}`} aria-hidden="true" />
              {SEEN[cause]}
            </li>
          ),
      )}
      {hasGaps && (
        <li class="service-mark" title={GAP}>
          <span class="cause-swatch gap" aria-hidden="true" />
          gap: versions before it were not seen
        </li>
      )}
      {hasBeingPlaced && (
        <li class="service-mark" title="It has arrived, and waits for what it follows from.">
          <span class="cause-swatch placing" aria-hidden="true" />
          being placed
        </li>
      )}
    </ul>
  )
}
