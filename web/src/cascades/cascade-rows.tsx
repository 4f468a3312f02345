import type { ListedCascade } from '../../../src/query/answer-schemas.ts'
import { BegunMark } from '../parts/begun-mark.tsx'
import { ActorMark } from '../parts/actor-mark.tsx'
import { CpidMark } from '../parts/cpid-mark.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { StateMark } from '../parts/state-mark.tsx'
import { deedOf } from '../text/change-sentence.ts'
import { duration } from '../text/duration.ts'
import { ago, moment } from '../text/moment.ts'

interface CascadeRowsProps {
  caption: string
  cascades: readonly ListedCascade[]
  nowMs: number
  /** If given, each cascade can be marked for a comparison. */
  marked?: { roots: readonly string[]; toggle: (root: string) => void }
}

/** Cascades as a table; on a narrow screen each row becomes a card. */
export function CascadeRows({ caption, cascades, nowMs, marked }: CascadeRowsProps) {
  const isFleet = cascades.some(({ causeway }) => causeway !== undefined)
  const longest = Math.max(...cascades.map(({ durationMs }) => durationMs), 0)
  return (
    <table class="cascade-rows">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {marked !== undefined && (
            <th class="pick">
              <span class="visually-hidden">Compare</span>
            </th>
          )}
          <th>State</th>
          <th>Object</th>
          <th>Started by</th>
          {isFleet && <th>Cluster</th>}
          <th>Started</th>
          <th>Duration</th>
          <th class="number">Spans</th>
          <th class="number">Failed</th>
          <th class="number">Services</th>
          <th class="number">Merges</th>
          <th class="number">Missing</th>
          <th>CPID</th>
        </tr>
      </thead>
      <tbody>
        {cascades.map((cascade) => (
          <CascadeRow
            key={`${cascade.causeway ?? ''} ${cascade.root}`}
            cascade={cascade}
            isFleet={isFleet}
            longest={longest}
            nowMs={nowMs}
            {...(marked && { marked })}
          />
        ))}
      </tbody>
    </table>
  )
}

const counted = (count: number, one: string): string => (count === 1 ? one : `${one}s`)

interface CascadeRowProps extends Pick<CascadeRowsProps, 'nowMs' | 'marked'> {
  cascade: ListedCascade
  /** From several Causeways: an archive is queried too. */
  isFleet: boolean
  longest: number
}

function CascadeRow({ cascade, isFleet, longest, nowMs, marked }: CascadeRowProps) {
  const { root, object, service, actor, cluster, start, durationMs, gaps, reason } = cascade
  const deed = deedOf(reason)
  return (
    <tr>
      {marked !== undefined && (
        <td class="pick">
          <input
            type="checkbox"
            checked={marked.roots.includes(root)}
            aria-label={`Compare ${object ?? root}`}
            onChange={() => marked.toggle(root)}
          />
        </td>
      )}
      <td class="state">
        <StateMark state={cascade.state} />
      </td>
      <th scope="row" class="object">
        <a href={`/cascades/${root}`}>
          {object === null ? <span class="mono">{root}</span> : <ObjectMark reference={object} />}
        </a>
        {deed !== undefined && <span class="muted"> {deed}</span>} <BegunMark {...cascade} />
      </th>
      <td class="service">
        <ActorMark actor={actor} service={service} />
        {cluster && !isFleet && <span class="muted"> in {cluster}</span>}
      </td>
      {isFleet && (
        <td class="cluster">
          {cluster}
          {cascade.causeway && <span class="muted"> reported by {cascade.causeway}</span>}
        </td>
      )}
      <td class="when">
        <time dateTime={start} title={start}>
          {moment(start, nowMs)} <span class="muted">{ago(start, nowMs)}</span>
        </time>
      </td>
      <td class="duration">
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${longest === 0 ? 0 : (100 * durationMs) / longest}%` }} />
        </span>
        <span class="number">{duration(durationMs)}</span>
      </td>
      <td class="number" data-label={counted(cascade.spans, 'span')}>
        {cascade.spans.toLocaleString('en')}
        {cascade.truncated && <span title="It has more spans: some are only in newer cascades"> +</span>}
      </td>
      <td class={`number ${cascade.failed > 0 ? 'warning' : ''}`} data-label="failed">
        {cascade.failed.toLocaleString('en')}
      </td>
      <td class="number" data-label={counted(cascade.services, 'service')}>
        {cascade.services}
      </td>
      <td class="number" data-label={counted(cascade.merges, 'merge')}>
        {cascade.merges}
      </td>
      <td class={`number ${cascade.missing > 0 ? 'warning' : ''}`} data-label="missing">
        {cascade.missing}
        {gaps > 0 && (
          <span
            class="cause gap"
            title={`Versions before ${gaps === 1 ? 'one write' : `${gaps} writes`} were not seen`}
          >
            {gaps} {gaps === 1 ? 'gap' : 'gaps'}
          </span>
        )}
      </td>
      <td class="cpid">
        <CpidMark cpid={root} href={`/cpids/${root}`} />
      </td>
    </tr>
  )
}
