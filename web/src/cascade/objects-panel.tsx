import { useMemo } from 'preact/hooks'
import { go, hrefTo, hrefWith } from '../app/address.ts'
import { useFirstRows } from '../parts/first-rows.tsx'
import { Notice } from '../parts/notice.tsx'
import { ObjectMark } from '../parts/object-mark.tsx'
import { duration } from '../text/duration.ts'
import { objectModel, objectWork, type ObjectWork } from '../timeline/object-lanes.ts'
import { Timeline } from '../timeline/timeline.tsx'
import { useEvents } from './events.ts'
import type { PanelProps } from './panel-props.ts'
import { ServiceLegend } from './service-legend.tsx'
import { TableScroll } from '../parts/table-scroll.tsx'

/** What was done to each object, over time or as a table. */
export function ObjectsPanel({ cascade, rows, search, chosen, onChoose }: PanelProps) {
  const work = useMemo(() => objectWork(rows), [rows])
  const model = useMemo(() => objectModel(rows, work), [rows, work])
  const events = useEvents(cascade, rows)
  const isTable = search.get('as') === 'table'
  if (work.length === 0) {
    return (
      <Notice title="No span says which objects it touched">
        <p>
          Controllers name them in <code>cpid.observed</code> and <code>cpid.wrote</code>.
        </p>
      </Notice>
    )
  }
  const neighbour = (span: number, key: string): number | undefined => {
    const step =
      key === 'ArrowRight' || key === 'ArrowDown' ? 1 : key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 0
    if (step === 0) return undefined
    const place = model.order.findIndex((box) => model.span[box] === span)
    const box = model.order[Math.min(model.count - 1, Math.max(0, place + step))] ?? 0
    return model.span[box]
  }
  return (
    <>
      <div class="panel-tools">
        <button
          type="button"
          aria-pressed={isTable}
          onClick={() => go(hrefWith({ as: isTable ? null : 'table' }), { replace: true })}
        >
          Table
        </button>
        <span class="muted hint">Full boxes wrote the object. Hollow boxes only observed it.</span>
        <ServiceLegend services={cascade.timePerService.map(({ service }) => service)} spans={rows.spans} />
      </div>
      {isTable ? (
        <ObjectTable work={work} />
      ) : (
        <Timeline
          model={model}
          spans={rows.spans}
          events={events}
          label={
            `Gantt chart of ${work.length.toLocaleString('en')} objects. The arrow keys go from span to span. Plus and minus zoom, ` +
            '0 shows all. The Table button has the same as a table.'
          }
          chosen={chosen}
          lit={undefined}
          onChoose={onChoose}
          neighbour={neighbour}
        />
      )}
    </>
  )
}

function ObjectTable({ work }: { work: readonly ObjectWork[] }) {
  const { shown, more } = useFirstRows(work)
  return (
    <TableScroll label="Objects">
      <table>
        <caption class="visually-hidden">Objects of the cascade by their first activity</caption>
        <thead>
          <tr>
            <th>Object</th>
            <th class="number">First at</th>
            <th class="number">Last at</th>
            <th class="number">Written by spans</th>
            <th class="number">Observed by spans</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ object, firstMs, lastMs, wrote, observed }) => (
            <tr key={object}>
              <th scope="row">
                <a href={hrefTo('/objects', { ref: object })}>
                  <ObjectMark reference={object} />
                </a>
              </th>
              <td class="number">{duration(firstMs)}</td>
              <td class="number">{duration(lastMs)}</td>
              <td class="number">{wrote.length}</td>
              <td class="number">{observed.length}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {more}
    </TableScroll>
  )
}
