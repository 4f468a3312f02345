import type {
  CascadeOutline,
  Comparison,
  KindTimeAnswer as KindTime,
  ServiceTimeAnswer as ServiceTime,
} from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { PartialNotice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { StateMark } from '../parts/state-mark.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { useNow } from '../parts/use-now.ts'
import { difference, duration, took } from '../text/duration.ts'
import { ago, moment } from '../text/moment.ts'

const ASK_AGAIN_MS = 3_000

/** Two cascades side by side: which services and kinds of object got slower. */
export function ComparePage({ a, b }: { a: string; b: string }) {
  const answer = useAnswer<Comparison>(`/api/v1/cascades/${a}/compare/${b}`, (data) =>
    Math.min(askAgainMs(data.a.state, ASK_AGAIN_MS), askAgainMs(data.b.state, ASK_AGAIN_MS)),
  )
  const data = answer.data
  if (data === undefined || answer.isLoading) return <Pending answer={answer} what="the comparison" isPage />
  return (
    <>
      <div class="page-head">
        <h1>Comparison</h1>
        <a class="button" href={`/cascades/${b}/compare/${a}`}>
          Swap
        </a>
      </div>
      <PartialNotice of={data} />
      <div class="compared">
        <Side name="A" outline={data.a} />
        <Side name="B" outline={data.b} />
      </div>
      <p class="panel-lead">{verdict(data.durationMs)} The largest slow-downs come first.</p>
      <div class="times">
        <Differences
          title="By service"
          what="Service"
          rows={data.services.map((row) => ({
            ...row,
            key: row.service,
            name: <ServiceMark service={row.service} />,
          }))}
        />
        {data.kinds.length > 0 && (
          <Differences
            title="By kind of object"
            what="Kind"
            rows={data.kinds.map((row) => ({ ...row, key: row.kind, name: row.kind }))}
          />
        )}
      </div>
    </>
  )
}

function verdict({ a, b, difference: ms }: Comparison['durationMs']): string {
  if (ms === 0) return `Both took ${duration(a)}.`
  return `B took ${duration(b)}, ${duration(Math.abs(ms))} ${ms > 0 ? 'longer' : 'less'} than A with ${duration(a)}.`
}

function Side({ name, outline }: { name: string; outline: CascadeOutline }) {
  const { root, object, start, durationMs, spans, state } = outline
  const nowMs = useNow()
  return (
    <section class="notice">
      <h2>
        {name}:{' '}
        <a href={`/cascades/${root}`}>
          {object === null ? <span class="mono">{root}</span> : <ObjectMark reference={object} />}
        </a>
      </h2>
      <p>
        {duration(durationMs)}, {spans.toLocaleString('en')} spans, <StateMark state={state} />
      </p>
      <p class="muted">
        {moment(start, nowMs)} {ago(start, nowMs)} <CpidMark cpid={root} href={`/cpids/${root}`} />
      </p>
    </section>
  )
}

function pace(differenceMs: number): string {
  if (differenceMs === 0) return 'muted'
  return differenceMs > 0 ? 'slower' : 'faster'
}

interface DifferenceRow {
  key: string
  name: preact.ComponentChild
  a: ServiceTime | KindTime | null
  b: ServiceTime | KindTime | null
  differenceMs: number
}

function Differences({ title, what, rows }: { title: string; what: string; rows: readonly DifferenceRow[] }) {
  const most = Math.max(...rows.map(({ differenceMs }) => Math.abs(differenceMs)), 0)
  return (
    <section>
      <h2>{title}</h2>
      <TableScroll label={title}>
        <table>
          <thead>
            <tr>
              <th>{what}</th>
              <th class="number">A</th>
              <th class="number">B</th>
              <th class="number">Difference</th>
              <th aria-hidden="true" />
              <th class="number">Spans A</th>
              <th class="number">Spans B</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ key, name, a, b, differenceMs }) => (
              <tr key={key}>
                <th scope="row">{name}</th>
                <td class="number">{a === null ? 'absent' : took(a.totalMs)}</td>
                <td class="number">{b === null ? 'absent' : took(b.totalMs)}</td>
                <td class={`number ${pace(differenceMs)}`}>{difference(differenceMs)}</td>
                <td aria-hidden="true">
                  <span class={`bar ${pace(differenceMs)}`}>
                    {differenceMs !== 0 && (
                      <span style={{ width: `${(100 * Math.abs(differenceMs)) / most}%` }} />
                    )}
                  </span>
                </td>
                <td class="number">{a?.spans.toLocaleString('en')}</td>
                <td class="number">{b?.spans.toLocaleString('en')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    </section>
  )
}
