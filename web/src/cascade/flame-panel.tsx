import { useMemo } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'
import { flameModel } from '../timeline/flame-lanes.ts'
import { EventDetails } from '../timeline/event-strip.tsx'
import { Timeline } from '../timeline/timeline.tsx'
import type { PanelProps } from './panel-props.ts'
import { ServiceLegend } from './service-legend.tsx'
import { useEvents } from './events.ts'
import { useFoundSpans } from './found-spans.ts'
import { litSpans } from './lit-spans.ts'
import { failuresOf, slowestOf } from './span-rows.ts'
import { nextOf, SpanSearch } from './span-search.tsx'
import { SpanTable } from './span-table.tsx'
import { neighbourInTree } from './tree-neighbour.ts'

/** The spans by cause, drawn or as a table. */
export function FlamePanel({ cascade, rows, search, chosen, onChoose }: PanelProps) {
  const model = useMemo(() => flameModel(rows), [rows])
  const events = useEvents(cascade, rows)
  const text = search.get('q') ?? ''
  const isCriticalOnly = search.get('critical') === '1'
  const isTable = search.get('as') === 'table'
  const { spans: found, lacks } = useFoundSpans(cascade, rows, text)
  const lit = useMemo(() => litSpans(rows, found, isCriticalOnly), [rows, found, isCriticalOnly])
  const failures = useMemo(() => failuresOf(rows), [rows])
  const slowest = useMemo(() => slowestOf(rows), [rows])
  const nextFailure = failures[(failures.indexOf(chosen) + 1) % Math.max(1, failures.length)]
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return
    const next = {
      n: nextOf(found ?? [], chosen),
      N: nextOf(found ?? [], chosen, true),
      f: nextFailure,
      s: slowest,
    }[event.key]
    if (next !== undefined) onChoose(next)
  }
  return (
    <div onKeyDown={onKey}>
      <div class="panel-tools">
        <SpanSearch text={text} found={found ?? []} chosen={chosen} onChoose={onChoose} />
        <button
          type="button"
          disabled={nextFailure === undefined}
          onClick={() => nextFailure !== undefined && onChoose(nextFailure)}
        >
          Next failure
        </button>
        <button
          type="button"
          disabled={slowest === undefined}
          onClick={() => slowest !== undefined && onChoose(slowest)}
        >
          Slowest
        </button>
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
        {lacks !== undefined && <span class="muted hint">{lacks}</span>}
        <ServiceLegend services={cascade.timePerService.map(({ service }) => service)} spans={rows.spans} />
      </div>
      {isTable ? (
        <>
          <SpanTable rows={rows} lit={lit} search={search} chosen={chosen} onChoose={onChoose} />
          <EventDetails {...events} />
        </>
      ) : (
        <Timeline
          model={model}
          spans={rows.spans}
          events={events}
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
    </div>
  )
}
