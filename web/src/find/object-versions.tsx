import type { ObjectVersion, ObjectVersions } from '../../../src/query/object-answer-schemas.ts'
import { useAnswer } from '../api/use-answer.ts'
import { type Changes, useChanges } from '../api/use-changes.ts'
import { useOlder } from '../api/use-older.ts'
import { hrefTo, hrefWith } from '../app/address.ts'
import { ActorMark } from '../parts/actor-mark.tsx'
import { ChangedFields } from '../parts/changed-fields.tsx'
import { Notice, PartialNotice, Pending } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { OlderButton } from '../parts/older-button.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { useNow } from '../parts/use-now.ts'
import { ago, moment } from '../text/moment.ts'
import { objectName } from '../text/object-name.ts'
import { CascadeLinks, rootsNamed } from './cascade-links.tsx'
import { BEGAN, CAUSES, REPORTED } from '../text/seen-write.ts'
import { CauseMark } from '../parts/cause-mark.tsx'

const ASK_AGAIN_MS = 3_000
const PAGE = 100
/** How many of the versions that were read are shown at first. */
const READ_SHOWN = 4

/** The versions of an object, highest first: who wrote each, why, from which versions, in which cascades. */
export function ObjectVersionsPanel({ reference }: { reference: string }) {
  const path = `/api/v1/objects/versions?ref=${encodeURIComponent(reference)}&limit=${PAGE}`
  const answer = useAnswer<ObjectVersions>(path, () => ASK_AGAIN_MS)
  const older = useOlder(
    path,
    (after) => `${path}&after=${after}`,
    (page: ObjectVersions) => page.versions,
  )
  const data = answer.isLoading ? undefined : answer.data
  const changes = useChanges(rootsNamed([...(data?.versions ?? []), ...older.items]))
  if (data === undefined) return <Pending answer={answer} what="its versions" />
  if (data.versions.length === 0) {
    return data.partial === undefined ? (
      <Notice title="No version of it is known">
        <p>
          No span names this object in <code>cpid.wrote</code>, or retention has pruned those that did.{' '}
          <a href={hrefWith({ view: 'history' })}>All that happened</a> shows who observed it.
        </p>
      </Notice>
    ) : (
      <PartialNotice of={data} />
    )
  }
  const versions = [...data.versions, ...older.items]
  const isOne = new Set(versions.map(({ object }) => objectName(object).reference)).size === 1
  return (
    <>
      <PartialNotice of={data} />
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
              <th>Changes</th>
            </tr>
          </thead>
          <tbody>
            {versions.map((version) => (
              <VersionRow key={`${version.spanId} ${version.object}`} {...{ version, isOne, changes }} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      <CauseWords versions={versions} />
      <OlderButton next={older.next === undefined ? data.next : older.next} older={older}>
        Lower versions
      </OlderButton>
    </>
  )
}

interface VersionRowProps {
  version: ObjectVersion
  isOne: boolean
  changes: Changes
}

function VersionRow({ version, isOne, changes }: VersionRowProps) {
  const nowMs = useNow()
  const { object, timestamp, name, user, service, cluster, spanId } = version
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
      <td class="write">
        {name}
        {version.supersededBy !== undefined && (
          <>
            {' '}
            <span class="cause superseded">superseded</span>
          </>
        )}
        <ChangedFields changed={version.changed} />
      </td>
      <td>
        <ActorMark actor={user} service={service} />
        {cluster !== null && <div class="muted">in {cluster}</div>}
      </td>
      <td>
        <WriteCause {...version} />
      </td>
      <td>
        <Read {...version} />
      </td>
      <td>
        <CascadeLinks
          roots={version.cascades}
          drivenBy={version.drivenBy}
          span={spanId}
          {...{ changes, timestamp }}
        />
      </td>
    </tr>
  )
}

/** The versions that the writer had read. */
function Read({ observed: references, cause, begins }: Pick<ObjectVersion, 'observed' | 'cause' | 'begins'>) {
  const shown = references.slice(0, READ_SHOWN)
  if (shown.length === 0) {
    const isFirst = begins === true || cause === 'operator' || cause === 'self'
    return <span class="muted">{isFirst ? 'nothing: it began here' : 'not reported'}</span>
  }
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

/** Why a version was written: as it was inferred, or as the controller reports itself. */
function WriteCause({
  cause,
  gap,
  begins,
  reason,
  cpid,
}: Pick<ObjectVersion, 'cause' | 'gap' | 'begins' | 'reason' | 'cpid'>) {
  if (cause !== undefined) return <CauseMark cause={cause} gap={gap} />
  if (cpid === null) return <span class="muted">not reported</span>
  return (
    <span class="cause-mark">
      {begins === true ? (
        <span class="cause operator" title={BEGAN}>
          began a change
        </span>
      ) : (
        <span class="cause" title={REPORTED}>
          reported
        </span>
      )}
      {reason !== null && <span class="muted">{reason}</span>}
    </span>
  )
}

/** The words that are used for why versions were written, each with its meaning. */
function CauseWords({ versions }: { versions: readonly Pick<ObjectVersion, 'cause' | 'begins' | 'cpid'>[] }) {
  const words = new Map<string, string>()
  for (const { cause, begins, cpid } of versions) {
    if (cause !== undefined) words.set(cause, CAUSES[cause])
    else if (begins === true) words.set('began a change', BEGAN)
    else if (cpid !== null) words.set('reported', REPORTED)
  }
  if (words.size === 0) return null
  return (
    <details class="muted">
      <summary>What these words mean</summary>
      <dl class="words">
        {[...words].map(([word, meaning]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}
