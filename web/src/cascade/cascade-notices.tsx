import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { duration, percent } from '../text/duration.ts'

/** With a watch alone the duration of a write is not known, so its steps have no length. */
const LEAST_TOLD_MS = 0.001

/** What the reader should know before the pictures: where the time went, what is missing, and what may still arrive. */
export function CascadeNotices({ cascade }: { cascade: Cascade }) {
  const beingPlaced = spansBeingPlaced(cascade)
  const { state, missing, missingCpids, truncated, clockSkew, durationMs, gaps, missedVersions } = cascade
  const { steps, longestStep, longestWait } = cascade.criticalPath
  const longest = steps[longestStep ?? -1]
  const step = longest !== undefined && longest.heldMs >= LEAST_TOLD_MS ? longest : undefined
  const wait = steps[longestWait ?? -1]
  // A step with a wrong time may be longer than the duration, which leaves that out.
  const share = (ms: number) =>
    durationMs > 0 && !clockSkew ? ` (${percent(ms / durationMs)} of the cascade)` : ''
  return (
    <div class="cascade-notices">
      {step !== undefined && (
        <p>
          Longest step: <strong>{step.name}</strong> of <bdi>{step.service}</bdi>, {duration(step.heldMs)}
          {share(step.heldMs)}
          {step.mostly !== null && (
            <>
              , mostly <strong>{step.mostly.name}</strong>
              {step.mostly.service !== step.service && (
                <>
                  {' '}
                  of <bdi>{step.mostly.service}</bdi>
                </>
              )}
              , {duration(step.mostly.heldMs)}
            </>
          )}
          .
        </p>
      )}
      {wait !== undefined && (
        <p>
          Longest wait: {duration(wait.waitMs)} before <strong>{wait.name}</strong> of{' '}
          <bdi>{wait.service}</bdi>.
        </p>
      )}
      {state === 'open' && (
        <p class="note open">Still open: more activity may arrive, and this page shows it when it does.</p>
      )}
      {beingPlaced > 0 && (
        <p class="note open">
          {beingPlaced === 1 ? 'One span is' : `${beingPlaced.toLocaleString('en')} spans are`} being placed:
          what {beingPlaced === 1 ? 'it follows' : 'they follow'} from has not arrived yet. Until then no
          figure counts {beingPlaced === 1 ? 'it' : 'them'}, and the critical path leads neither through{' '}
          {beingPlaced === 1 ? 'it nor through the spans below it' : 'them nor through the spans below them'}.
        </p>
      )}
      {missing > 0 && (
        <div class="note bad">
          <p>
            {missing === 1 ? 'The mergelog of one CPID' : `The mergelogs of ${missing} CPIDs`} ha
            {missing === 1 ? 's' : 've'} not arrived, so the changes that led to{' '}
            {missing === 1 ? 'it' : 'them'} are unknown. Work that belongs to this cascade may be missing
            here, and work shown here may belong to other changes as well.
          </p>
          <ul class="cpid-list">
            {missingCpids.map((cpid) => (
              <li key={cpid}>
                <a class="mono" href={`/cpids/${cpid}`}>
                  {cpid}
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
      {gaps > 0 && (
        <p class="note bad">
          {gaps === 1 ? 'Before one write' : `Before ${gaps} writes`} of this cascade, versions of the object
          were not seen{missedVersions > 0 && `, likely ${missedVersions} or more`}. What happened in between
          is missing here, and the causes of these writes may be others. They are marked{' '}
          <span class="cause gap">gap</span>.
        </p>
      )}
      {truncated && (
        <p class="note bad">
          Some of its spans are missing here. A span that many changes lead to is copied only into the
          cascades of the newest of them; <code>connectors::cpid::linking::max_fanout</code> says into how
          many.
        </p>
      )}
      {clockSkew && (
        <p class="note bad">
          A clock is wrong: some spans have implausible times. The start and the end of this cascade leave
          them out.
        </p>
      )}
    </div>
  )
}

function spansBeingPlaced({ traces }: Cascade): number {
  const ids = traces.flatMap(({ spans }) =>
    spans.flatMap((span) => (span.beingPlaced === true ? [span.spanId] : [])),
  )
  return new Set(ids).size
}
