import type { ObjectVersion } from '../../../src/query/object-answer-schemas.ts'
import type { Changes } from '../api/use-changes.ts'
import { hrefTo } from '../app/address.ts'
import { BegunMark } from '../parts/begun-mark.tsx'
import { changeSentence, relativeTo } from '../text/change-sentence.ts'

interface CascadeLinksProps {
  roots: readonly string[]
  /** The roots that drive it. They come first. */
  drivenBy: readonly string[]
  /** What is known of the changes that began with these roots. */
  changes: Changes
  /** When it happened. */
  timestamp: string
  /** The span to open in each cascade. */
  span?: string
}

/** Those that are named at once. */
const NAMED = 2

/** The roots of a list that are named at once. Others are named once they were looked up. */
export function rootsNamed(items: readonly Pick<ObjectVersion, 'drivenBy' | 'cascades'>[]): string[] {
  return [...new Set(items.flatMap(({ drivenBy, cascades }) => mainOf(cascades, drivenBy)))]
}

function mainOf(roots: readonly string[], drivenBy: readonly string[]): readonly string[] {
  return (drivenBy.length > 0 ? drivenBy : roots).slice(0, NAMED)
}

/** The changes of these roots: those that drive it, and behind them those that it was only passed on with. */
export function CascadeLinks({ roots, drivenBy, ...link }: CascadeLinksProps) {
  const shown = mainOf(roots, drivenBy)
  const rest = roots.filter((root) => !shown.includes(root))
  const passedOn = rest.filter((root) => drivenBy.length > 0 && !drivenBy.includes(root)).length
  const more = [
    rest.length > passedOn && `${rest.length - passedOn} more`,
    passedOn > 0 && `${passedOn} passed on`,
  ].filter((part) => part !== false)
  return (
    <>
      <Links roots={shown} {...link} />
      {rest.length > 0 && (
        <details class="muted">
          <summary>{more.join(', ')}</summary>
          <Links roots={rest} {...link} />
        </details>
      )}
    </>
  )
}

function Links({ roots, changes, timestamp, span }: Omit<CascadeLinksProps, 'drivenBy'>) {
  return (
    <ul class="change-list">
      {roots.map((root) => {
        const change = changes.get(root)?.find((one) => one.root === root)
        return (
          <li key={root}>
            <a href={hrefTo(`/cascades/${root}`, span === undefined ? {} : { span })}>
              {change === undefined ? (
                <span class="mono">{root.slice(0, 8)}</span>
              ) : (
                `${changeSentence(change)}, ${relativeTo(change.start, timestamp)}`
              )}
            </a>{' '}
            {change !== undefined && <BegunMark {...change} />}
          </li>
        )
      })}
    </ul>
  )
}
