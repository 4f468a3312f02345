import type { Cascade } from '../../../src/query/answer-schemas.ts'
import type { CascadePodStatsAnswer } from '../../../src/query/object-answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Notice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { duration } from '../text/duration.ts'
import { lineOf, pathOf, type PodLine, rangeOf, type TimeRange } from './pod-lines.ts'

const ASK_AGAIN_MS = 10_000
const MS_PER_S = 1_000
/** So long after the last activity points still come. */
const STILL_COMING_MS = 15 * 60 * MS_PER_S

/** CPU, memory, restarts and throttling of each Pod that the change wrote, all on one time axis. */
export function PodStatsPanel({ cascade }: { cascade: Cascade }) {
  const endMs = Date.parse(cascade.start) + cascade.durationMs
  const answer = useAnswer<CascadePodStatsAnswer>(`/api/v1/cascades/${cascade.root}/pod-stats`, () =>
    Date.now() - endMs < STILL_COMING_MS ? ASK_AGAIN_MS : undefined,
  )
  if (answer.data === undefined) return <Pending answer={answer} what="what was measured of its Pods" />
  const { pods, truncated, leftOut } = answer.data
  const measured = pods.filter(({ series }) => series.length > 0)
  if (measured.length === 0) {
    return (
      <Notice title={pods.length === 0 ? 'No Pod was written' : 'Nothing was measured of its Pods'}>
        <p>
          The Collector’s <code>kubeletstats</code> receiver measures Pods. Send its metrics to a{' '}
          <code>metrics/in</code> pipeline. Causeway keeps measurements from 5 minutes before a change wrote a
          Pod to 15 minutes after.
        </p>
      </Notice>
    )
  }
  const change = { fromSeconds: Date.parse(cascade.start) / MS_PER_S, toSeconds: endMs / MS_PER_S }
  const range = rangeOf(measured, change)
  return (
    <>
      <p class="muted hint">
        {duration((range.toSeconds - range.fromSeconds) * MS_PER_S)} from left to right. The band is the time
        of the change. Each line is drawn from zero to its own maximum.
      </p>
      <ul class="pod-stats" aria-label="Pods and what was measured of them">
        {measured.map(({ uid, object, series }) => (
          <li key={uid}>
            <ObjectMark reference={object} />
            <div class="pod-lines">
              {series.map((one) => (
                <Line
                  key={`${one.metric} ${one.container ?? ''}`}
                  line={lineOf(one)}
                  range={range}
                  change={change}
                />
              ))}
            </div>
          </li>
        ))}
      </ul>
      {pods.length > measured.length && (
        <p class="muted">
          Of {(pods.length - measured.length).toLocaleString('en')} more Pods nothing was measured.
        </p>
      )}
      {truncated && (
        <p class="note">
          The change wrote {leftOut.toLocaleString('en')} more Pods, which are not shown: these are the first{' '}
          {pods.length.toLocaleString('en')}.
        </p>
      )}
    </>
  )
}

function Line({ line, range, change }: { line: PodLine; range: TimeRange; change: TimeRange }) {
  const { title, points, say } = line
  const values = points.map(({ value }) => value)
  const last = values.at(-1)
  if (last === undefined) return null
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const wide = range.toSeconds - range.fromSeconds
  const at = (100 * (change.fromSeconds - range.fromSeconds)) / wide
  // A change of seconds is seen among minutes.
  const width = Math.max(0.7, (100 * (change.toSeconds - change.fromSeconds)) / wide)
  const told = least === most ? say(most) : `${say(least)} to ${say(most)}`
  return (
    <figure class="pod-line">
      <figcaption>
        <span>{title}</span> <span class="number muted">{told}</span>
      </figcaption>
      <svg
        viewBox="0 0 100 100"
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${told}, last ${say(last)}`}
      >
        <rect class="change" x={at} y="0" width={width} height="100" />
        <path d={pathOf(line, range)} vector-effect="non-scaling-stroke" />
      </svg>
    </figure>
  )
}
