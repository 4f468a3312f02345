import type { ObjectVersion, ObjectVersions } from '../../../src/query/answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { useOlder } from '../api/use-older.ts'
import { hrefTo, hrefWith } from '../app/address.ts'
import { ActorMark } from '../parts/actor-mark.tsx'
import { CauseMark } from '../parts/cause-mark.tsx'
import { Notice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { OlderButton } from '../parts/older-button.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { useNow } from '../parts/use-now.ts'
import { ago, moment } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { CascadeLinks } from './cascade-links.tsx'

const ASK_AGAIN_MS = 3_000
const PAGE = 100
/** So many of the versions that were read are named at once. */
const READ_SHOWN = 4

/** The versions of an object, the highest first: who wrote each, why, from which versions, in which cascades. */
export function ObjectVersionsPanel({ reference }: { reference: string }) {
  const path = `/api/v1/objects/versions?ref=${encodeURIComponent(reference)}&limit=${PAGE}`
  const answer = useAnswer<ObjectVersions>(path, () => ASK_AGAIN_MS)
  const older = useOlder(
    path,
    (after) => `${path}&after=${after}`,
    (page: ObjectVersions) => page.versions,
  )
  const data = answer.isLoading ? undefined : answer.data
  if (data === undefined) return <Pending answer={answer} what="its versions" />
  if (data.versions.length === 0) {
    return (
      <Notice title="No version of it is known">
        <p>
          No span says in <code>cpid.wrote</code> that it wrote this object, or retention has removed it.{' '}
          <a href={hrefWith({ view: 'history' })}>All that happened</a> has who observed it.
        </p>
      </Notice>
    )
  }
  const versions = [...data.versions, ...older.items]
  const isOne = new Set(versions.map(({ object }) => objectName(object).reference)).size === 1
  return (
    <>
      <TableScroll label="Versions">
        <table>
          <caption class="visually-hidden">Versions of the object, the highest first</caption>
          <thead>
            <tr>
              <th class="number">Version</th>
              {!isOne && <th>Object</th>}
              <th>Written</th>
              <th>Write</th>
              <th>By</th>
              <th>Why</th>
              <th>Had read</th>
              <th>Cascades</th>
            </tr>
          </thead>
          <tbody>
            {versions.map((version) => (
              <VersionRow key={`${version.spanId} ${version.object}`} version={version} isOne={isOne} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      <OlderButton next={older.next === undefined ? data.next : older.next} older={older}>
        Lower versions
      </OlderButton>
    </>
  )
}

function VersionRow({ version, isOne }: { version: ObjectVersion; isOne: boolean }) {
  const nowMs = useNow()
  const { object, timestamp, name, user, service, cause, gap, cluster, spanId, observed } = version
  return (
    <tr>
      <th scope="row" class="number">
        {objectName(object).version ?? 'not given'}
      </th>
      {!isOne && (
        <td>
          <ObjectMark reference={object} />
        </td>
      )}
      <td class="when">
        <time dateTime={timestamp} title={timestamp}>
          {moment(timestamp, nowMs)} <span class="muted">{ago(timestamp, nowMs)}</span>
        </time>
      </td>
      <td>{name}</td>
      <td>
        <ActorMark actor={user} service={service} />
        {cluster !== null && <div class="muted">in {cluster}</div>}
      </td>
      <td>
        <CauseMark cause={cause} gap={gap} />
      </td>
      <td>
        <Read references={observed} />
      </td>
      <td>
        <CascadeLinks roots={version.cascades} drivenBy={version.drivenBy} span={spanId} />
      </td>
    </tr>
  )
}

/** The versions that whoever wrote it had read. */
function Read({ references }: { references: readonly string[] }) {
  const shown = references.slice(0, READ_SHOWN)
  return (
    <ul class="read">
      {shown.map((reference) => {
        const { reference: object, version } = objectName(reference)
        return (
          <li key={reference}>
            <a href={hrefTo('/objects', { ref: object })}>
              <ObjectMark reference={reference} />
            </a>{' '}
            <span class="muted number">{version}</span>
          </li>
        )
      })}
      {references.length > shown.length && <li class="muted">and {references.length - shown.length} more</li>}
    </ul>
  )
}
