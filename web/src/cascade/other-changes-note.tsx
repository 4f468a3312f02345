import { useMemo } from 'preact/hooks'
import type { CascadeOfCpid } from '../../../src/query/answer-schemas.ts'
import { useChanges } from '../api/use-changes.ts'
import { BegunMark } from '../parts/begun-mark.tsx'
import { changeSentence, relativeTo } from '../text/change-sentence.ts'
import { cpidsOfOthers } from './other-changes.ts'
import type { SpanRows } from './span-rows.ts'

const NAMED = 2

/** Which other changes drive some of the spans in the picture. */
export function OtherChanges({ rows, root, start }: { rows: SpanRows; root: string; start: string }) {
  const cpids = useMemo(() => cpidsOfOthers(rows), [rows])
  const changes = useChanges(cpids)
  if (cpids.length === 0) return null
  const found = cpids.flatMap((cpid) => changes.get(cpid) ?? [])
  const others = [...new Map(found.map((change) => [change.root, change])).values()].filter(
    (change) => change.root !== root,
  )
  return (
    <div class="cascade-notices">
      <div class="note">
        <p>
          Boxes with stripes belong to other changes, which passed through here. They count there, not here:
        </p>
        <ChangeList changes={others.slice(0, NAMED)} start={start} />
        {others.length > NAMED && (
          <details>
            <summary>and {others.length - NAMED} more</summary>
            <ChangeList changes={others.slice(NAMED)} start={start} />
          </details>
        )}
      </div>
    </div>
  )
}

function ChangeList({ changes, start }: { changes: readonly CascadeOfCpid[]; start: string }) {
  return (
    <ul class="cpid-list">
      {changes.map((change) => (
        <li key={change.root}>
          <a href={`/cascades/${change.root}`}>
            {changeSentence(change)}, {relativeTo(change.start, start)}
          </a>{' '}
          <BegunMark {...change} />
        </li>
      ))}
    </ul>
  )
}
