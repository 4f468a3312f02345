import { ServiceMark } from './service-mark.tsx'

/** Who wrote: the user, if known, and the service that was used. */
export function ActorMark({ actor, service }: { actor: string | null | undefined; service: string | null }) {
  if (actor === null || actor === undefined || actor === service)
    return service === null ? null : <ServiceMark service={service} />
  const user = <span class={isPerson(actor) ? 'actor person' : 'actor'}>{actor}</span>
  return (
    <span class="actor-mark">
      {isPerson(actor) && user}
      {service !== null && <ServiceMark service={service} />}
      {!isPerson(actor) && user}
    </span>
  )
}

/** Users that are parts of Kubernetes, including service accounts, have such names. */
function isPerson(user: string): boolean {
  return !user.startsWith('system:')
}
