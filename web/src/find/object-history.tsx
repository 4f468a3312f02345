import type { ObjectEvent, ObjectHistory } from '../../../src/query/object-answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { type Changes, useChanges } from '../api/use-changes.ts'
import { useOlder } from '../api/use-older.ts'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { Notice, PartialNotice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { OlderButton } from '../parts/older-button.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { useNow } from '../parts/use-now.ts'
import { ago, moment } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { CascadeLinks, rootsNamed } from './cascade-links.tsx'

const ASK_AGAIN_MS = 3_000
const PAGE = 200
const DEEDS = { wrote: 'wrote it', observed: 'observed it', mergelog: 'sent a mergelog for it' } as const

/** The events of an object, newest first: by which change, by whom, in which cascades. */
export function ObjectHistoryPanel({ reference }: { reference: string }) {
  const path = `/api/v1/objects?ref=${encodeURIComponent(reference)}&limit=${PAGE}`
  const answer = useAnswer<ObjectHistory>(path, () => ASK_AGAIN_MS)
  const older = useOlder(
    path,
    (after) => `${path}&after=${after}`,
    (page: ObjectHistory) => page.objects,
  )
  const data = answer.isLoading ? undefined : answer.data
  const events = [...(data?.objects ?? []), ...older.items]
  const changes = useChanges(rootsNamed(events))
  if (data === undefined) return <Pending answer={answer} what="its history" />
  if (data.objects.length === 0) {
    return data.partial === undefined ? (
      <Notice title="Nothing is known of this object">
        <p>
          No span names it in <code>cpid.wrote</code> or <code>cpid.observed</code>, and no mergelog in{' '}
          <code>cpid.object</code>, or retention has pruned those that did.
        </p>
      </Notice>
    ) : (
      <PartialNotice of={data} />
    )
  }
  return (
    <>
      <PartialNotice of={data} />
      <TableScroll label="History">
        <EventTable {...{ events, changes }} />
      </TableScroll>
      <OlderButton next={older.next === undefined ? data.next : older.next} older={older}>
        What happened before
      </OlderButton>
    </>
  )
}

function EventTable({ events, changes }: { events: readonly ObjectEvent[]; changes: Changes }) {
  const nowMs = useNow()
  return (
    <table>
      <caption class="visually-hidden">What happened to the object, newest first</caption>
      <thead>
        <tr>
          <th>Time</th>
          <th>Who did what</th>
          <th>Object</th>
          <th class="number">Version</th>
          <th>CPID</th>
          <th>Changes</th>
        </tr>
      </thead>
      <tbody>
        {events.map((entry, index) => (
          <tr key={index}>
            <td class="when">
              <time dateTime={entry.timestamp} title={entry.timestamp}>
                {moment(entry.timestamp, nowMs)} <span class="muted">{ago(entry.timestamp, nowMs)}</span>
              </time>
            </td>
            <td>
              {entry.service !== null && <ServiceMark service={entry.service} />} {DEEDS[entry.action]}
              {entry.cluster !== null && <span class="muted"> in {entry.cluster}</span>}
            </td>
            <th scope="row">
              <ObjectMark reference={entry.object} />
            </th>
            <td class="number">{objectName(entry.object).version}</td>
            <td>{entry.cpid !== null && <CpidMark cpid={entry.cpid} href={`/cpids/${entry.cpid}`} />}</td>
            <td>
              <CascadeLinks
                roots={entry.cascades}
                drivenBy={entry.drivenBy}
                timestamp={entry.timestamp}
                changes={changes}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
