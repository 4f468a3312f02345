import type { Answer } from '../api/use-answer.ts'
import { Pending } from '../parts/notice.tsx'
import { timeOfDay } from '../text/moment.ts'
import {
  attribute,
  type KeyValue,
  type OtlpSpan,
  spanOf,
  type SpansAnswer,
  valueText,
} from './otlp-record.ts'

/** A span as it was sent on: its attributes, events, links and resource. */
export function SentSpan({ answer }: { answer: Answer<SpansAnswer> }) {
  if (answer.data === undefined || answer.isLoading) return <Pending answer={answer} what="the span" />
  const found = spanOf(answer.data)
  if (found === undefined) return null
  const { span, scope, resource } = found
  const { attributes = [], events = [], links = [], status } = span
  return (
    <>
      {status?.message !== undefined && status.message !== '' && (
        <Section title="Failed with">
          <p class="text">{status.message}</p>
        </Section>
      )}
      {attributes.length > 0 && (
        <Section title="Attributes">
          <AttributeList attributes={attributes} />
        </Section>
      )}
      {events.length > 0 && (
        <Section title={`Events (${events.length})`}>
          <ul class="records">
            {events.map((event, index) => (
              <li key={index}>
                <span class="number muted">{timeOf(event.timeUnixNano)}</span> <bdi>{event.name}</bdi>
                <AttributeList attributes={event.attributes ?? []} />
              </li>
            ))}
          </ul>
        </Section>
      )}
      {links.length > 0 && (
        <Section title={`Links (${links.length})`}>
          <ul class="records">
            {links.map((link, index) => (
              <Link key={index} link={link} />
            ))}
          </ul>
        </Section>
      )}
      <details>
        <summary>Resource{scope !== '' && `, scope ${scope}`}</summary>
        <AttributeList attributes={resource} />
      </details>
    </>
  )
}

function Link({ link }: { link: NonNullable<OtlpSpan['links']>[number] }) {
  const { traceId = '', spanId = '', attributes = [] } = link
  const cpid = attribute(attributes, 'cpid.id')
  return (
    <li>
      <a href={`/find?q=${encodeURIComponent(cpid ?? traceId)}`}>
        trace <span class="mono">{traceId.slice(0, 8)}</span>
      </a>{' '}
      span <span class="mono">{spanId}</span>
      <AttributeList attributes={attributes} />
    </li>
  )
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

function timeOf(nanos: string | undefined): string {
  return nanos === undefined ? '' : timeOfDay(new Date(Number(BigInt(nanos) / 1_000_000n)).toISOString())
}

/** Attributes, one a line, as they were sent. */
function AttributeList({ attributes }: { attributes: readonly KeyValue[] }) {
  return (
    <dl class="attributes">
      {attributes.map(({ key, value }) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{valueText(value)}</dd>
        </div>
      ))}
    </dl>
  )
}
