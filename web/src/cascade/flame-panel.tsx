import { useMemo } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'
import { flameModel } from '../timeline/flame-lanes.ts'
import { Timeline } from '../timeline/timeline.tsx'
import type { PanelProps } from './panel-props.ts'
import { ServiceLegend } from './service-legend.tsx'
import { SpanSearch } from './span-search.tsx'
import { litSpans } from './lit-spans.ts'
import { SpanTable } from './span-table.tsx'
import { neighbourInTree } from './tree-neighbour.ts'

/** The spans by cause, drawn or as a table. */
export function FlamePanel({ cascade, rows, search, chosen, onChoose }: PanelProps) {
  const model = useMemo(() => flameModel(rows), [rows])
  const text = search.get('q') ?? ''
  const isCriticalOnly = search.get('critical') === '1'
  const isTable = search.get('as') === 'table'
  const lit = useMemo(() => litSpans(rows, text, isCriticalOnly), [rows, text, isCriticalOnly])
  return (
    <>
      <div class="panel-tools">
        <SpanSearch rows={rows} text={text} chosen={chosen} onChoose={onChoose} />
        <button
          type="button"
          aria-pressed={isCriticalOnly}
          onClick={() => go(hrefWith({ critical: isCriticalOnly ? null : '1' }), { replace: true })}
        >
          Critical path only
        </button>
        <button
          type="button"
          aria-pressed={isTable}
          onClick={() => go(hrefWith({ as: isTable ? null : 'table' }), { replace: true })}
        >
          Table
        </button>
        <ServiceLegend services={cascade.timePerService.map(({ service }) => service)} spans={rows.spans} />
      </div>
      {isTable ? (
        <SpanTable rows={rows} lit={lit} chosen={chosen} onChoose={onChoose} />
      ) : (
        <Timeline
          model={model}
          spans={rows.spans}
          label={
            `Flame graph by cause, ${rows.spans.length.toLocaleString('en')} spans. Down goes to what a span caused, up to its cause, ` +
            'left and right to its neighbours. Plus and minus zoom, 0 shows all. The Table button has the same as a table.'
          }
          chosen={chosen}
          lit={lit}
          onChoose={onChoose}
          neighbour={(span, key) => neighbourInTree(rows, span, key)}
        />
      )}
    </>
  )
}
