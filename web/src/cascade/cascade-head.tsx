import { useMemo } from 'preact/hooks'
import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { BegunMark } from '../parts/begun-mark.tsx'
import { ActorMark } from '../parts/actor-mark.tsx'
import { go, hrefWith } from '../app/address.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { StateMark } from '../parts/state-mark.tsx'
import { useNow } from '../parts/use-now.ts'
import { changeSentence, deedOfCommand, reasonText } from '../text/change-sentence.ts'
import { duration } from '../text/duration.ts'
import { ago, moment } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { traceLink } from '../text/trace-link.ts'
import { chromeTrace } from './chrome-trace.ts'
import { type Drawn, drawnOf } from './other-changes.ts'
import { FAILED, failuresOf, type SpanRows } from './span-rows.ts'

interface CascadeHeadProps {
  cascade: Cascade
  rows: SpanRows
  traceUrl: string | null
}

/** The main facts of a cascade, in a few lines. */
export function CascadeHead({ cascade, rows, traceUrl }: CascadeHeadProps) {
  const { root, object, service, actor, cluster, reason, start, state, durationMs } = cascade
  const nowMs = useNow()
  const link = traceLink(traceUrl, cascade.traceId)
  return (
    <header>
      <div class="page-head">
        <h1>
          {object === null ? <span class="mono">{root}</span> : <ObjectMark reference={object} />}{' '}
          <BegunMark {...cascade} />
        </h1>
        <div class="actions">
          <a class="button" href={`/cpids/${root}`}>
            Merge graph
          </a>
          <a class="button" href={`/compare?a=${root}`}>
            Compare
          </a>
          <CopyLink />
          <a class="button" href={`/api/v1/cpids/${root}/spans`} download={`${root}.json`}>
            Download
          </a>
          <button
            type="button"
            onClick={() => saveFile(`${root}.perfetto.json`, JSON.stringify(chromeTrace(cascade, rows)))}
          >
            Download for Perfetto
          </button>
          {link !== undefined && (
            <a class="button" href={link} target="_blank" rel="noreferrer">
              Open trace
            </a>
          )}
        </div>
      </div>
      <HeadSentence cascade={cascade} rows={rows} />
      <dl class="facts">
        <Fact name="State">
          <StateMark state={state} />
        </Fact>
        <Fact name={state === 'open' ? 'Duration so far' : 'Duration'}>
          <strong class="number">{duration(durationMs)}</strong>
        </Fact>
        <Fact name="Started">
          <time dateTime={start} title={start}>
            {moment(start, nowMs)} <span class="muted">{ago(start, nowMs)}</span>
          </time>
        </Fact>
        {actor !== null && (
          <Fact name="Started by">
            <ActorMark actor={actor} service={service} />
          </Fact>
        )}
        {cluster && <Fact name="Cluster">{cluster}</Fact>}
        {reason && <Fact name="Reason">{reasonText(reason)}</Fact>}
        <Fact name="Spans">{cascade.spans.toLocaleString('en')}</Fact>
        <Fact name="Drawn below">
          <DrawnFact drawn={drawnOf(rows)} />
        </Fact>
        <Fact name="Failed">
          <Failed count={cascade.failed} rows={rows} />
        </Fact>
        <Fact name="Services">{cascade.services}</Fact>
        <Fact name="Merges">{cascade.merges}</Fact>
        {cascade.gaps > 0 && <Fact name="Gaps">{cascade.gaps}</Fact>}
        {cascade.traceCount > 1 && <Fact name="Traces">{cascade.traceCount}</Fact>}
        <Fact name="CPID">
          <CpidMark cpid={root} isWhole />
        </Fact>
      </dl>
    </header>
  )
}

/** Who did what, what it touched, whether something failed, and whether it is over. */
function HeadSentence({ cascade, rows }: { cascade: Cascade; rows: SpanRows }) {
  const written = useMemo(() => writtenBy(rows), [rows])
  const { failed, state, durationMs } = cascade
  const count = written === 1 ? '1 object' : `${written.toLocaleString('en')} objects`
  return (
    <p class="head-sentence">
      <strong>{changeSentence(cascade, begunBy(cascade, rows))}</strong>:{' '}
      {written === 0 ? (
        'no known object written'
      ) : (
        <a href={hrefWith({ view: 'tree', span: null })}>{count} written</a>
      )}
      , {failed === 0 ? 'no span failed' : <strong class="warning whole">{spanCount(failed)} failed</strong>},{' '}
      {state === 'open' ? 'not over yet' : `over after ${duration(durationMs)}`}.
    </p>
  )
}

/** The span of the command that began it, which says what was done where its reason does not. */
function begunBy({ root }: Cascade, { spans }: SpanRows): string | undefined {
  return spans.find(
    ({ cpid, name, wrote = [] }) => cpid === root && wrote.length > 0 && deedOfCommand(name) !== undefined,
  )?.name
}

/** How many objects the spans of this change wrote. What a failed span names without a version was not written. */
function writtenBy({ spans }: SpanRows): number {
  const objects = new Set<string>()
  for (const { wrote = [], activity, status } of spans)
    for (const { reference, version } of activity === false ? [] : wrote.map(objectName))
      if (status !== FAILED || version !== undefined) objects.add(reference)
  return objects.size
}

/** The address contains the view, the search and the chosen span. */
function CopyLink() {
  return <CopyButton text={location.href} what="link to this view" says="Copy link" />
}

/** The number of spans in the picture. It differs from the cascade's own count if other changes drive some of them. */
function DrawnFact({ drawn: { spans, synthetic, others, durationMs } }: { drawn: Drawn }) {
  const parts = [
    others > 0 && `${others.toLocaleString('en')} driven by other changes`,
    synthetic > 0 && `${synthetic.toLocaleString('en')} added by Causeway`,
  ].filter((part) => part !== false)
  return (
    <>
      {spans === 1 ? '1 box' : `${spans.toLocaleString('en')} boxes`} over {duration(durationMs)}
      {parts.length > 0 && <span class="muted"> ({parts.join(', ')})</span>}
    </>
  )
}

const spanCount = (count: number): string => (count === 1 ? '1 span' : `${count.toLocaleString('en')} spans`)

/** The number of failed spans, and a link to the first. */
function Failed({ count, rows }: { count: number; rows: SpanRows }) {
  const [first] = failuresOf(rows)
  const span = rows.spans[first ?? -1]
  if (count === 0) return <>none</>
  return (
    <>
      <strong class="warning number">{spanCount(count)}</strong>
      {span !== undefined && (
        <button type="button" class="quiet" onClick={() => go(hrefWith({ span: span.spanId, view: null }))}>
          First failure
        </button>
      )}
    </>
  )
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Lets the browser save a text as a file. */
function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
