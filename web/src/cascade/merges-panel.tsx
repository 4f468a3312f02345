import { useMemo } from 'preact/hooks'
import type { Cascade, Mergelog } from '../../../src/query/answer-schemas.ts'
import { type Changes, useChanges } from '../api/use-changes.ts'
import { ChangeLinks } from '../parts/change-links.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { Notice } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { timeOfDay } from '../text/moment.ts'
import { otherSources } from './other-changes.ts'

/** The changes of a cascade: where they merged, with what, and who reported it. */
export function MergesPanel({ cascade }: { cascade: Cascade }) {
  const { mergelogs, root, start } = cascade
  const others = useMemo(() => otherSources(cascade), [cascade])
  const changes = useChanges([...others])
  const objects = useMemo(() => new Map(mergelogs.map(({ cpid, object }) => [cpid, object])), [mergelogs])
  if (mergelogs.length === 0) {
    return (
      <Notice title="No mergelog of this cascade is known">
        <p>
          The <a href={`/cpids/${root}`}>merge graph</a> shows what is known around its CPID.
        </p>
      </Notice>
    )
  }
  return (
    <>
      <p class="panel-lead">
        Every change in this cascade, and the changes that it merged. A source that began elsewhere is a link
        to its own cascade. The <a href={`/cpids/${root}`}>merge graph</a> shows the same as a picture.
      </p>
      <TableScroll label="Mergelogs">
        <table>
          <caption class="visually-hidden">Mergelogs of the cascade</caption>
          <thead>
            <tr>
              <th>Time</th>
              <th>CPID</th>
              <th>Object</th>
              <th>Merged</th>
              <th>Sent by</th>
              <th>Reason</th>
            </tr>
          </thead>
          <tbody>
            {mergelogs.map((mergelog) => (
              <MergeRow key={mergelog.cpid} {...{ mergelog, objects, others, changes, start }} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      {cascade.mergelogsTruncated === true && (
        <p class="note">There are more than these {mergelogs.length.toLocaleString('en')}.</p>
      )}
    </>
  )
}

interface MergeRowProps {
  mergelog: Mergelog
  /** The object of each mergelog of the cascade, by its CPID. */
  objects: ReadonlyMap<string, string | null>
  /** Sources that are not part of the cascade. */
  others: ReadonlySet<string>
  changes: Changes
  start: string
}

function MergeRow({ mergelog, objects, others, changes, start }: MergeRowProps) {
  const { cpid, sources, timestamp, service, object, reason, cluster } = mergelog
  return (
    <tr>
      <td>
        <time dateTime={timestamp} title={timestamp}>
          {timeOfDay(timestamp)}
        </time>
      </td>
      <th scope="row">
        <CpidMark cpid={cpid} href={`/cpids/${cpid}`} />
      </th>
      <td>{object !== null && <ObjectMark reference={object} />}</td>
      <td>
        {sources.length === 0 && <span class="muted">begins here</span>}
        <ul class="cpid-list">
          {sources.map((source) => (
            <li key={source}>
              <CpidMark cpid={source} href={`/cpids/${source}`} />{' '}
              {others.has(source) ? (
                <ChangeLinks cpid={source} changes={changes.get(source)} start={start} />
              ) : (
                <ObjectOf reference={objects.get(source)} />
              )}
            </li>
          ))}
        </ul>
      </td>
      <td>
        {service !== null && <ServiceMark service={service} />}
        {cluster !== null && <span class="muted"> in {cluster}</span>}
      </td>
      <td>{reason}</td>
    </tr>
  )
}

function ObjectOf({ reference }: { reference: string | null | undefined }) {
  return typeof reference === 'string' ? <ObjectMark reference={reference} /> : null
}
