import { hrefTo } from '../app/address.ts'

interface CascadeLinksProps {
  roots: readonly string[]
  /** The first of them: what drives it. */
  drivenBy: readonly string[]
  /** Where each opens. */
  span?: string
}

/** The cascades of these roots: those that drive it, and below them those that were only passed on with it. */
export function CascadeLinks({ roots, drivenBy, span }: CascadeLinksProps) {
  const isKnown = drivenBy.length > 0
  const passedOn = roots.slice(isKnown ? drivenBy.length : roots.length)
  return (
    <>
      <Links roots={isKnown ? drivenBy : roots} {...(span !== undefined && { span })} />
      {passedOn.length > 0 && (
        <details class="muted">
          <summary>{passedOn.length} passed on</summary>
          <Links roots={passedOn} {...(span !== undefined && { span })} />
        </details>
      )}
    </>
  )
}

function Links({ roots, span }: Pick<CascadeLinksProps, 'roots' | 'span'>) {
  return (
    <ul class="cpid-list">
      {roots.map((root) => (
        <li key={root}>
          <a class="mono" href={hrefTo(`/cascades/${root}`, span === undefined ? {} : { span })}>
            {root.slice(0, 8)}
          </a>
        </li>
      ))}
    </ul>
  )
}
