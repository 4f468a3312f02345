import type { ObjectVersion } from '../../../src/query/object-answer-schemas.ts'
import { BEGAN, CAUSES, TOLD } from '../text/seen-write.ts'
import { CauseMark } from './cause-mark.tsx'

/** Why a version was written: as it was inferred, or as the controller reports itself. */
export function WriteCause({
  cause,
  gap,
  begins,
  reason,
  cpid,
}: Pick<ObjectVersion, 'cause' | 'gap' | 'begins' | 'reason' | 'cpid'>) {
  if (cause !== undefined) return <CauseMark cause={cause} gap={gap} />
  if (cpid === null) return <span class="muted">not told</span>
  return (
    <span class="cause-mark">
      {begins === true ? (
        <span class="cause operator" title={BEGAN}>
          began a change
        </span>
      ) : (
        <span class="cause" title={TOLD}>
          told
        </span>
      )}
      {reason !== null && <span class="muted">{reason}</span>}
    </span>
  )
}

/** The words that are used for why versions were written, each with its meaning. */
export function CauseWords({
  versions,
}: {
  versions: readonly Pick<ObjectVersion, 'cause' | 'begins' | 'cpid'>[]
}) {
  const words = new Map<string, string>()
  for (const { cause, begins, cpid } of versions) {
    if (cause !== undefined) words.set(cause, CAUSES[cause])
    else if (begins === true) words.set('began a change', BEGAN)
    else if (cpid !== null) words.set('told', TOLD)
  }
  if (words.size === 0) return null
  return (
    <details class="muted">
      <summary>What these words mean</summary>
      <dl class="words">
        {[...words].map(([word, meaning]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
