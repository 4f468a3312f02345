import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { ActorMark } from '../parts/actor-mark.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { StateMark } from '../parts/state-mark.tsx'
import { useNow } from '../parts/use-now.ts'
import { duration } from '../text/duration.ts'
import { ago, moment } from '../text/moment.ts'
import { traceLink } from '../text/trace-link.ts'

/** What a cascade is about, in a few lines. */
export function CascadeHead({ cascade, traceUrl }: { cascade: Cascade; traceUrl: string | null }) {
  const { root, object, service, actor, cluster, reason, start, state, durationMs } = cascade
  const nowMs = useNow()
  const link = traceLink(traceUrl, cascade.traceId)
  return (
    <header class="cascade-head">
      <div class="page-head">
        <h1>{object === null ? <span class="mono">{root}</span> : <ObjectMark reference={object} />}</h1>
        <div class="actions">
          <a class="button" href={`/cpids/${root}`}>
            Merge graph
          </a>
          <a class="button" href={`/compare?a=${root}`}>
            Compare
          </a>
          {link !== undefined && (
            <a class="button" href={link} target="_blank" rel="noreferrer">
              Open trace
            </a>
          )}
        </div>
      </div>
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
        {reason && <Fact name="Reason">{reason}</Fact>}
        <Fact name="Spans">{cascade.spans.toLocaleString('en')}</Fact>
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

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
