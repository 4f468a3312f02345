import type { Span } from '../../../src/query/answer-schemas.ts'
import { CAUSES, GAP } from '../text/seen-write.ts'

/** Why a write was made, and whether versions before it were not seen. */
export function CauseMark({ cause, gap }: Pick<Span, 'cause' | 'gap'>) {
  if (cause === undefined) return null
  return (
    <span class="cause-mark">
      <span class={`cause ${cause}`} title={CAUSES[cause]}>
        {cause}
      </span>
      {gap === true && (
        <span class="cause gap" title={GAP}>
          gap
        </span>
      )}
    </span>
  )
}
