import { useEffect } from 'preact/hooks'
import { useAnswer } from '../api/use-answer.ts'
import { useChanges } from '../api/use-changes.ts'
import { hrefTo } from '../app/address.ts'
import { ChangeLinks } from '../parts/change-links.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { CauseMark } from '../parts/cause-mark.tsx'
import { duration, took } from '../text/duration.ts'
import { timeOfDay } from '../text/moment.ts'
import { CAUSES, GAP } from '../text/seen-write.ts'
import { traceLink } from '../text/trace-link.ts'
import type { SpansAnswer } from './otlp-record.ts'
import { CpidLogs } from './cpid-logs.tsx'
import { SentSpan } from './sent-span.tsx'
import type { SpanRows } from './span-rows.ts'
import { marksOf } from './span-table.tsx'

/** From this width on the details are beside the picture; below it they cover the lower half. */
const BESIDE = 1_000

interface SpanDetailsProps {
  rows: SpanRows
  at: number
  root: string
  /** When the cascade began. */
  start: string
  traceUrl: string | null
  onChoose: (span: number) => void
}

/** Everything about one span, and the logs that carry the same CPID. */
export function SpanDetails({ rows, at, root, start, traceUrl, onChoose }: SpanDetailsProps) {
  const span = rows.spans[at]
  const isBeingPlaced = span?.beingPlaced === true
  const traceId = rows.traces[rows.traceOf[at] ?? 0]?.traceId ?? ''
  const sent = useAnswer<SpansAnswer>(
    span && !isBeingPlaced ? `/api/v1/cascades/${root}/spans/${span.spanId}?trace=${traceId}` : undefined,
  )
  useEffect(() => {
    if (innerWidth < BESIDE) document.querySelector('.tabs')?.scrollIntoView({ block: 'start' })
  }, [])
  const changes = useChanges(span?.activity === false && span.cpid !== null ? [span.cpid] : [])
  if (span === undefined) return null
  const parent = rows.parents[at] ?? -1
  const link = isBeingPlaced ? undefined : traceLink(traceUrl, traceId, span.spanId)
  const marks = marksOf(span)
  const { offsetMs, durationMs } = span.told ?? span
  return (
    <aside class="details" aria-label="Span" tabIndex={0}>
      <header>
        <h2>{span.name}</h2>
        <button type="button" class="quiet" onClick={() => onChoose(-1)} aria-label="Close the span">
          Close
        </button>
      </header>
      <dl class="pairs">
        <dt>Service</dt>
        <dd>
          <ServiceMark service={span.service} cluster={span.cluster} />
        </dd>
        {span.user !== undefined && (
          <>
            <dt>User</dt>
            <dd>
              <a href={hrefTo('/', { actor: span.user })}>{span.user}</a>
            </dd>
          </>
        )}
        {span.cause !== undefined && (
          <>
            <dt>Why</dt>
            <dd>
              <CauseMark cause={span.cause} gap={span.gap} /> {CAUSES[span.cause]} {span.gap === true && GAP}
            </dd>
          </>
        )}
        <dt>Began</dt>
        <dd>
          {duration(offsetMs)} in, at {timeOfDay(span.start)}
        </dd>
        <dt>Took</dt>
        <dd>
          <strong>{took(durationMs)}</strong>
          {`, ${took(span.selfMs)} itself`}
        </dd>
        {span.waitMs !== undefined && span.waitMs > 0 && (
          <>
            <dt>Waited</dt>
            <dd>{duration(span.waitMs)} since the write that it observed</dd>
          </>
        )}
        {parent >= 0 && !isBeingPlaced && (
          <>
            <dt>Caused by</dt>
            <dd>
              <button type="button" class="quiet inline" onClick={() => onChoose(parent)}>
                {rows.spans[parent]?.name}
              </button>
            </dd>
          </>
        )}
        {span.activity === false && span.cpid !== null && (
          <>
            <dt>Driven by</dt>
            <dd>
              <ChangeLinks cpid={span.cpid} changes={changes.get(span.cpid)} start={start} />. It does not
              count here.
            </dd>
          </>
        )}
        {marks.length > 0 && (
          <>
            <dt>Marks</dt>
            <dd>{marks.join(', ')}</dd>
          </>
        )}
        {span.cpid !== null && (
          <>
            <dt>CPID</dt>
            <dd>
              <CpidMark cpid={span.cpid} href={`/cpids/${span.cpid}`} isWhole />
            </dd>
          </>
        )}
        <Objects name="Wrote" references={span.wrote} />
        <Objects name="Observed" references={span.observed} />
        {link !== undefined && (
          <>
            <dt>Trace</dt>
            <dd>
              <a href={link} target="_blank" rel="noreferrer">
                Open this span in the tracing backend
              </a>
            </dd>
          </>
        )}
      </dl>
      {isBeingPlaced ? (
        <p class="note open">
          It is being placed: it waits for what it follows from. It is sent on when that has arrived, or when
          the time to wait for it is over. Until then no figure counts it, and the critical path leads neither
          through it nor through the spans below it.
        </p>
      ) : (
        <SentSpan answer={sent} />
      )}
      {span.cpid !== null && <CpidLogs cpid={span.cpid} span={span} />}
    </aside>
  )
}

function Objects({ name, references = [] }: { name: string; references: readonly string[] | undefined }) {
  if (references.length === 0) return null
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <ul>
          {references.map((reference) => (
            <li key={reference}>
              <a href={hrefTo('/objects', { ref: reference.split('?', 1)[0] ?? reference })}>
                <ObjectMark reference={reference} />
              </a>
            </li>
          ))}
        </ul>
      </dd>
    </>
  )
}
