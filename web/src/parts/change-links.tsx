import type { CascadeOfCpid } from '../../../src/query/answer-schemas.ts'
import { BegunMark } from './begun-mark.tsx'
import { changeSentence, relativeTo } from '../text/change-sentence.ts'

interface ChangeLinksProps {
  cpid: string
  /** Undefined until they are looked up. */
  changes: readonly CascadeOfCpid[] | undefined
  /** When the change of the page began. */
  start: string
}

const NAMED = 3

/** Other changes by description, each with a link to its cascade: `alice scaled deployment web, 2 min before`. */
export function ChangeLinks({ cpid, changes, start }: ChangeLinksProps) {
  if (changes === undefined || changes.length === 0) {
    return (
      <a href={`/cpids/${cpid}?view=cascades`} class="other">
        another change, of which {changes === undefined ? 'more is being looked up' : 'nothing more is known'}
      </a>
    )
  }
  return (
    <>
      {changes.slice(0, NAMED).map((change, at) => (
        <span key={change.root}>
          {at > 0 && ' and '}
          <a href={`/cascades/${change.root}`} class="other">
            {changeSentence(change)}, {relativeTo(change.start, start)}
          </a>{' '}
          <BegunMark {...change} />
        </span>
      ))}
      {changes.length > NAMED && ` and ${changes.length - NAMED} more`}
    </>
  )
}
