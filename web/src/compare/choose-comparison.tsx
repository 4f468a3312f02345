import type { CascadeList, CascadeOutline } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Notice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { useNow } from '../parts/use-now.ts'
import { duration } from '../text/duration.ts'
import { ago, moment } from '../text/moment.ts'

/** Chooses what to compare with. Cascades of the same object come first, since they compare best. */
export function ChooseComparison({ a }: { a: string | null }) {
  const answer = useAnswer<CascadeList>('/api/v1/cascades?limit=200')
  const nowMs = useNow()
  if (a === null) {
    return (
      <Notice title="Choose two cascades" isPage>
        <p>
          Mark two in the <a href="/">list of cascades</a>, or open one and press Compare.
        </p>
      </Notice>
    )
  }
  if (answer.data === undefined) return <Pending answer={answer} what="cascades" />
  const own = answer.data.cascades.find(({ root }) => root === a)
  const others = answer.data.cascades.filter(({ root }) => root !== a)
  const likeness = ({ object }: CascadeOutline) =>
    nameOf(object) === nameOf(own?.object) ? 2 : kindOf(object) === kindOf(own?.object) ? 1 : 0
  others.sort((one, other) => likeness(other) - likeness(one))
  return (
    <>
      <div class="page-head">
        <h1>
          Compare {own?.object ? <ObjectMark reference={own.object} /> : <span class="mono">{a}</span>} with
        </h1>
      </div>
      {others.length === 0 && <Notice title="There is no other cascade yet" />}
      <ul class="choices">
        {others.map((other) => (
          <li key={other.root}>
            <a href={`/cascades/${other.root}/compare/${a}`}>
              {other.object === null ? (
                <span class="mono">{other.root}</span>
              ) : (
                <ObjectMark reference={other.object} />
              )}
            </a>{' '}
            <span class="muted">
              {duration(other.durationMs)}, {moment(other.start, nowMs)} {ago(other.start, nowMs)}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

function nameOf(object: string | null | undefined): string {
  return object?.split('?', 1)[0] ?? ''
}

function kindOf(object: string | null | undefined): string {
  return nameOf(object).split('/').slice(0, 3).join('/')
}
