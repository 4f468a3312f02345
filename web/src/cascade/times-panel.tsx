import type {
  Cascade,
  KindTimeAnswer as KindTime,
  ServiceTimeAnswer as ServiceTime,
} from '../../../src/query/answer-schemas.ts'
import { colourOf } from '../parts/service-colour.ts'
import { ServiceMark } from '../parts/service-mark.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'
import { duration, took } from '../text/duration.ts'

/** Where the time went: by service, by cluster if there are several, and by kind of object. */
export function TimesPanel({ cascade }: { cascade: Cascade }) {
  const { timePerService, timePerCluster, timePerKind } = cascade
  return (
    <div class="times">
      <Times
        title="By service"
        what="Service"
        hasOwnTime
        times={timePerService.map((time) => ({
          ...time,
          key: time.service,
          name: <ServiceMark service={time.service} />,
          colour: colourOf(time.service),
        }))}
      />
      {timePerCluster.length > 0 && (
        <Times
          title="By cluster"
          what="Service"
          hasOwnTime
          times={timePerCluster.map((time) => ({
            ...time,
            key: `${time.cluster ?? ''} ${time.service}`,
            name: <ServiceMark service={time.service} cluster={time.cluster} />,
            colour: colourOf(time.service),
          }))}
        />
      )}
      {timePerKind.length > 0 && (
        <Times
          title="By kind of object"
          what="Kind"
          times={timePerKind.map((time) => ({
            ...time,
            key: time.kind,
            name: time.kind,
            colour: 'var(--bar)',
          }))}
        />
      )}
      <p class="muted hint">
        Itself is the time of a span without the spans inside it. Waited is the time from the write of an
        object to the start of the span that observed it. Spans that ran at the same time all count, so sums
        can exceed the duration.
      </p>
    </div>
  )
}

interface Time extends Partial<Pick<KindTime, 'writes' | 'objects'> & Pick<ServiceTime, 'errors'>> {
  key: string
  name: preact.ComponentChild
  colour: string
  totalMs: number
  selfMs?: number | undefined
  waitMs?: number | undefined
  spans: number
}

interface TimesProps {
  title: string
  what: string
  times: readonly Time[]
  /** Bars show the own time, else the time in spans. */
  hasOwnTime?: boolean
}

function Times({ title, what, times, hasOwnTime = false }: TimesProps) {
  const shown = ({ selfMs, totalMs }: Pick<Time, 'selfMs' | 'totalMs'>) =>
    hasOwnTime ? (selfMs ?? totalMs) : totalMs
  const mostMs = Math.max(...times.map(shown), 0)
  const hasObjects = times.some(({ objects }) => objects !== undefined)
  return (
    <section>
      <h2>{title}</h2>
      <TableScroll label={title}>
        <table>
          <thead>
            <tr>
              <th>{what}</th>
              <th aria-hidden="true" />
              <th class="number">Itself</th>
              <th class="number">In spans</th>
              <th class="number">Waited</th>
              <th class="number">Spans</th>
              <th class="number">{hasObjects ? 'Objects' : 'Failed'}</th>
              {hasObjects && <th class="number">Writes</th>}
            </tr>
          </thead>
          <tbody>
            {times.map(({ key, name, colour, totalMs, selfMs, waitMs, spans, errors, objects, writes }) => (
              <tr key={key}>
                <th scope="row">{name}</th>
                <td aria-hidden="true">
                  <span class="bar">
                    <span
                      style={{
                        width: `${mostMs === 0 ? 0 : (100 * shown({ selfMs, totalMs })) / mostMs}%`,
                        backgroundColor: colour,
                      }}
                    />
                  </span>
                </td>
                <td class="number">{selfMs === undefined ? '' : took(selfMs)}</td>
                <td class="number">{took(totalMs)}</td>
                <td class="number">{waitMs === undefined ? '' : duration(waitMs)}</td>
                <td class="number">{spans.toLocaleString('en')}</td>
                <td class="number">{hasObjects ? objects : (errors ?? '')}</td>
                {hasObjects && <td class="number">{writes}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
    </section>
  )
}
