import type { CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { begunBecause } from '../text/change-sentence.ts'

/** Marks a change that began by itself, or that was fully overwritten. Nothing for other changes. */
export function BegunMark({ reason, supersededBy }: Pick<CascadeOutline, 'reason' | 'supersededBy'>) {
  const because = begunBecause(reason)
  return (
    <>
      {because !== undefined && (
        <span class="cause self" title="A controller began this change by itself.">
          by itself{because === 'unknown' ? '' : `: ${because}`}
        </span>
      )}
      {supersededBy !== undefined && (
        <span
          class="cause superseded"
          title="Another change overwrote this one entirely before any controller acted on it."
        >
          superseded
        </span>
      )}
    </>
  )
}
