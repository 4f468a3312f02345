import { colourOf } from './service-colour.ts'

interface ServiceMarkProps {
  service: string
  /** Where it is, where that is not said elsewhere. */
  cluster?: string | null | undefined
}

/** A service's name beside its colour. */
export function ServiceMark({ service, cluster }: ServiceMarkProps) {
  return (
    <span class="service-mark">
      <span class="swatch" style={{ backgroundColor: colourOf(service) }} aria-hidden="true" />
      <span class="service-name">{service}</span>
      {cluster && <span class="muted">in {cluster}</span>}
    </span>
  )
}
