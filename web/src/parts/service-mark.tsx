import { colourOf } from './service-colour.ts'

interface ServiceMarkProps {
  service: string
  /** Its cluster, if that is not shown elsewhere. */
  cluster?: string | null | undefined
}

/** A service's name with its colour. */
export function ServiceMark({ service, cluster }: ServiceMarkProps) {
  return (
    <span class="service-mark">
      <span class="swatch" style={{ backgroundColor: colourOf(service) }} aria-hidden="true" />
      <span class="service-name">{service}</span>
      {cluster && <span class="muted">in {cluster}</span>}
    </span>
  )
}
