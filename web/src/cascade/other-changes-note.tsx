import { useMemo } from 'preact/hooks'
import { useChanges } from '../api/use-changes.ts'
import { changeSentence, relativeTo } from '../text/change-sentence.ts'
import { cpidsOfOthers } from './other-changes.ts'
import type { SpanRows } from './span-rows.ts'

const NAMED = 5

/** Which other changes drive a part of what is drawn. */
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
        <ul class="cpid-list">
          {others.slice(0, NAMED).map((change) => (
            <li key={change.root}>
              <a href={`/cascades/${change.root}`}>
                {changeSentence(change)}, {relativeTo(change.start, start)}
              </a>
            </li>
          ))}
          {others.length > NAMED && <li class="muted">and {others.length - NAMED} more</li>}
        </ul>
      </div>
    </div>
  )
}
