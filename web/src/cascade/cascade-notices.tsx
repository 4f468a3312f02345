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
        <p class="note open">Still open: activity may still arrive, and this page follows it.</p>
      )}
      {beingPlaced > 0 && (
        <p class="note open">
          {beingPlaced === 1 ? 'One span is' : `${beingPlaced.toLocaleString('en')} spans are`} being placed:
          what {beingPlaced === 1 ? 'it follows' : 'they follow'} from has not come yet. No figure counts{' '}
          {beingPlaced === 1 ? 'it' : 'them'} until then, and the critical path leads past{' '}
          {beingPlaced === 1 ? 'it and what is below it' : 'them and what is below them'}.
        </p>
      )}
      {missing > 0 && (
        <div class="note bad">
          <p>
            {missing === 1 ? 'The mergelog of one CPID' : `The mergelogs of ${missing} CPIDs`} ha
            {missing === 1 ? 's' : 've'} not arrived. What led to {missing === 1 ? 'it' : 'them'} is unknown:
            work that belongs here may be missing, and this may belong to other changes as well.
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
          were not seen{missedVersions > 0 && `, likely ${missedVersions} or more`}: what happened between is
          not here, and may have led elsewhere. They are marked <span class="cause gap">gap</span>.
        </p>
      )}
      {truncated && (
        <p class="note bad">
          Not all of its spans are here. Where many changes meet, a span is copied into the newest of them
          only; <code>connectors::cpid::linking::max_fanout</code> says into how many.
        </p>
      )}
      {clockSkew && (
        <p class="note bad">
          A clock is wrong: some spans carry times that cannot be. They are left out of the start and the end
          of this cascade.
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
