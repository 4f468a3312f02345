import { ServiceMark } from '../parts/service-mark.tsx'

const SHOWN = 12

/** Which colour is which service, and how the critical path is marked. */
export function ServiceLegend({ services }: { services: readonly string[] }) {
  return (
    <ul class="legend" aria-label="Colours">
      {services.slice(0, SHOWN).map((service) => (
        <li key={service}>
          <ServiceMark service={service} />
        </li>
      ))}
      {services.length > SHOWN && <li class="muted">and {services.length - SHOWN} more</li>}
      <li class="service-mark">
        <span class="critical-swatch" aria-hidden="true" />
        critical path
      </li>
    </ul>
  )
}
