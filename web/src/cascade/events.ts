import { useMemo } from 'preact/hooks'
import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import type { TimelineEvent } from '../timeline/event-strip.tsx'
import {
  attribute,
  type LogLine,
  logLines,
  type LogsAnswer,
  nanosOf,
  severityOf,
  valueText,
} from './otlp-record.ts'
import type { SpanRows } from './span-rows.ts'

const ASKED = 1_000
const ASK_AGAIN_MS = 4_000
/** OTLP's number of a warning. */
const WARNING = 13

/** Events and log records of a cascade, in time. */
export interface CascadeEvents {
  readonly events: readonly TimelineEvent[]
  /** There are more than were asked for. */
  readonly isTruncated: boolean
  readonly isLoading: boolean
}

const NONE: CascadeEvents = { events: [], isTruncated: false, isLoading: true }

/** The events of the changes that the spans of a cascade carry. Mergelogs are left out: the picture has them as marks of their own. */
export function useEvents({ root, start, state }: Cascade, { spans }: SpanRows): CascadeEvents {
  const answer = useAnswer<LogsAnswer>(`/api/v1/cpids/${root}/logs?limit=${ASKED}`, () =>
    askAgainMs(state, ASK_AGAIN_MS),
  )
  return useMemo(() => {
    if (answer.data === undefined) return NONE
    const cpids = new Set([root, ...spans.flatMap(({ cpid }) => cpid ?? [])])
    const startNs = nanosIn(start)
    const events = logLines(answer.data)
      .filter(({ record }) => cpids.has(attribute(record.attributes, 'cpid.id') ?? ''))
      .map((line) => eventOf(line, startNs))
    return { events, isTruncated: typeof answer.data.next === 'string', isLoading: false }
  }, [answer.data, spans, root, start])
}

/** `Date` knows milliseconds only. */
function nanosIn(rfc3339: string): bigint {
  const [, seconds = '', digits = ''] = /^([^.]*?)(?:\.(\d+))?Z$/.exec(rfc3339) ?? []
  return BigInt(Date.parse(`${seconds}Z`)) * 1_000_000n + BigInt(digits.padEnd(9, '0'))
}

function eventOf({ record, service, about }: LogLine, startNs: bigint): TimelineEvent {
  const text = valueText(record.body)
  const reason = attribute(record.attributes, 'k8s.event.reason')
  return {
    offsetMs: Number(nanosOf(record) - startNs) / 1e6,
    severity: severityOf(record),
    isBad: (record.severityNumber ?? 0) >= WARNING,
    service,
    title: [reason, about].filter((part) => part !== undefined && part !== '').join(' '),
    text: text === '' ? (record.eventName ?? attribute(record.attributes, 'event.name') ?? '') : text,
  }
}
