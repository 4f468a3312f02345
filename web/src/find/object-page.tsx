import type { ObjectHistory } from '../../../src/query/answers/objects.ts'
import { useAnswer } from '../api/use-answer.ts'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { Notice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { ServiceMark } from '../parts/service-mark.tsx'
import { useNow } from '../parts/use-now.ts'
import { objectName } from '../text/object-name.ts'
import { ago, moment } from '../text/moment.ts'
import { TableScroll } from '../parts/table-scroll.tsx'

const ASK_AGAIN_MS = 3_000
const DEEDS = { wrote: 'wrote it', observed: 'observed it', mergelog: 'sent a mergelog for it' } as const

/** What happened to an object, newest first: which change, by whom, in which cascades. */
export function ObjectPage({ search }: { search: URLSearchParams }) {
  const ref = search.get('ref') ?? ''
  const answer = useAnswer<ObjectHistory>(
    ref === '' ? undefined : `/api/v1/objects?ref=${encodeURIComponent(ref)}&limit=200`,
    () => ASK_AGAIN_MS,
  )
  const nowMs = useNow()
  if (ref === '') return <Notice title="No object is named in this address" isPage />
  const data = answer.isLoading ? undefined : answer.data
  return (
    <>
      <div class="page-head">
        <h1>
          <ObjectMark reference={ref} />
        </h1>
      </div>
      {data === undefined && <Pending answer={answer} what="its history" />}
      {data?.objects.length === 0 && (
        <Notice title="Nothing is known of this object">
          <p>
            No span names it in <code>cpid.wrote</code> or <code>cpid.observed</code>, and no mergelog in{' '}
            <code>cpid.object</code>; or retention has removed them.
          </p>
        </Notice>
      )}
      {data !== undefined && data.objects.length > 0 && (
        <TableScroll label="History">
          <table>
            <caption class="visually-hidden">What happened to the object, newest first</caption>
            <thead>
              <tr>
                <th>Time</th>
                <th>Who did what</th>
                <th>Object</th>
                <th class="number">Version</th>
                <th>CPID</th>
                <th>Cascades</th>
              </tr>
            </thead>
            <tbody>
              {data.objects.map((entry, index) => (
                <tr key={index}>
                  <td>
                    <time dateTime={entry.timestamp} title={entry.timestamp}>
                      {moment(entry.timestamp, nowMs)}{' '}
                      <span class="muted">{ago(entry.timestamp, nowMs)}</span>
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
                  <td>
                    {entry.cpid !== null && <CpidMark cpid={entry.cpid} href={`/cpids/${entry.cpid}`} />}
                  </td>
                  <td>
                    <ul class="cpid-list">
                      {entry.cascades.map((root) => (
                        <li key={root}>
                          <a class="mono" href={`/cascades/${root}`}>
                            {root.slice(0, 8)}
                          </a>
                        </li>
                      ))}
                    </ul>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
      {data?.next && <p class="note">Older ones are not shown.</p>}
    </>
  )
}
