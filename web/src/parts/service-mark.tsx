import { colourOf } from './service-colour.ts'

/** A service's name beside its colour. */
export function ServiceMark({ service }: { service: string }) {
  return (
    <span class="service-mark">
      <span class="swatch" style={{ backgroundColor: colourOf(service) }} aria-hidden="true" />
      <span class="service-name">{service}</span>
    </span>
  )
}
