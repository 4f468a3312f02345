import { useAnswer } from '../api/use-answer.ts'
import { PartialNotice, Pending } from '../parts/notice.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { timeOfDay } from '../text/moment.ts'
import {
  attribute,
  type LogLine,
  logLines,
  type LogsAnswer,
  nanosOf,
  severityOf,
  valueText,
} from './otlp-record.ts'
import type { DrawnSpan } from './span-rows.ts'

/** Enough for one change. The answer also contains the logs of all its descendants. */
const ASKED = 1_000
const SHOWN = 200

/** Log records of a CPID. Those of the span's own service during the span are highlighted. */
export function CpidLogs({ cpid, span }: { cpid: string; span: DrawnSpan }) {
  const answer = useAnswer<LogsAnswer>(`/api/v1/cpids/${cpid}/logs?limit=${ASKED}`)
  if (answer.data === undefined || answer.isLoading) return <Pending answer={answer} what="its logs" />
  const lines = logLines(answer.data).filter(
    ({ record }) =>
      (attribute(record.attributes, 'cpid.id') ?? attribute(record.attributes, 'cpid.new')) === cpid,
  )
  const fromMs = Date.parse(span.start)
  const { durationMs } = span.told ?? span
  const isDuring = ({ record, service }: LogLine) => {
    const ms = Number(nanosOf(record) / 1_000_000n)
    return service === span.service && ms >= fromMs - 1 && ms <= fromMs + durationMs + 1
  }
  return (
    <section>
      <h3>Logs with the same CPID ({lines.length})</h3>
      <PartialNotice of={answer.data} />
      {lines.length === 0 && <p class="muted">No log record has this CPID.</p>}
      <ul class="records logs">
        {lines.slice(0, SHOWN).map((line, index) => (
          <li key={index} class={isDuring(line) ? 'during' : ''}>
            <span class="number muted">{timeText(line)}</span>{' '}
            <span class="severity">{severityOf(line.record)}</span> <ServiceMark service={line.service} />
            <p class="text">{bodyOf(line)}</p>
          </li>
        ))}
      </ul>
      {lines.length > SHOWN && <p class="muted">And {lines.length - SHOWN} more.</p>}
    </section>
  )
}

function bodyOf({ record }: LogLine): string {
  const text = valueText(record.body)
  return text === '' ? (record.eventName ?? attribute(record.attributes, 'event.name') ?? '') : text
}

function timeText({ record }: LogLine): string {
  return timeOfDay(new Date(Number(nanosOf(record) / 1_000_000n)).toISOString())
}
