import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { begunBecause } from '../text/change-sentence.ts'

/** Marks a change that began by itself, or that was fully overwritten. Nothing for other changes. */
export function BegunMark({ reason, supersededBy }: Pick<CascadeOutline, 'reason' | 'supersededBy'>) {
  const because = begunBecause(reason)
  return (
    <>
      {because !== undefined && (
        <span class="cause self" title="Nobody asked for it: a controller began it by itself.">
          by itself{because === 'unknown' ? '' : `: ${because}`}
        </span>
      )}
      {supersededBy !== undefined && (
        <span
          class="cause superseded"
          title="Another change overwrote it before any controller had acted on it: nothing is left of it."
        >
          superseded
        </span>
      )}
    </>
  )
}
