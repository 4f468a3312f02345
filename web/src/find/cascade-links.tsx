import { hrefTo } from '../app/address.ts'

/** The cascades of these roots, each open at a span where one is given. */
export function CascadeLinks({ roots, span }: { roots: readonly string[]; span?: string }) {
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
