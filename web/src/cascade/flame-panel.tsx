import { useMemo } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'
import { flameModel } from '../timeline/flame-lanes.ts'
import { EventDetails } from '../timeline/event-strip.tsx'
import { Timeline } from '../timeline/timeline.tsx'
import type { PanelProps } from './panel-props.ts'
import { ServiceLegend } from './service-legend.tsx'
import { useEvents } from './events.ts'
import { useFoundSpans } from './found-spans.ts'
import { failuresOf, slowestOf, type SpanRows } from './span-rows.ts'
import { SpanTable } from './span-table.tsx'

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

interface SpanSearchProps {
  text: string
  /** The spans that match, by position. */
  found: readonly number[]
  chosen: number
  onChoose: (span: number) => void
}

/** Searches spans by all their texts. Enter goes to the next match. */
function SpanSearch({ text, found, chosen, onChoose }: SpanSearchProps) {
  const step = (isBack: boolean) => {
    const next = nextOf(found, chosen, isBack)
    if (next !== undefined) onChoose(next)
  }
  return (
    <div class="span-search">
      <label class="visually-hidden" for="span-search">
        Search the spans
      </label>
      <input
        id="span-search"
        type="search"
        placeholder="Name, attribute, message"
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => go(hrefWith({ q: event.currentTarget.value }), { replace: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey)
        }}
      />
      {text.trim() !== '' && (
        <>
          <span class="muted number" role="status">
            {found.length === 0
              ? 'none'
              : `${found.includes(chosen) ? `${found.indexOf(chosen) + 1} of ` : ''}${found.length.toLocaleString('en')}`}
          </span>
          <button type="button" disabled={found.length === 0} onClick={() => step(false)}>
            Next match
          </button>
        </>
      )}
    </div>
  )
}

/** The match after the chosen span, by position; after the last one the first. */
function nextOf(spans: readonly number[], chosen: number, isBack = false): number | undefined {
  return isBack
    ? (spans.findLast((at) => at < chosen) ?? spans.at(-1))
    : (spans.find((at) => at > chosen) ?? spans[0])
}

/** The highlighted spans: those found, restricted to the critical path if requested. */
function litSpans(
  { spans }: SpanRows,
  found: readonly number[] | undefined,
  isCriticalOnly: boolean,
): Uint8Array | undefined {
  if (found === undefined && !isCriticalOnly) return undefined
  const lit = new Uint8Array(spans.length)
  for (const at of found ?? spans.keys()) if (!isCriticalOnly || spans[at]?.critical === true) lit[at] = 1
  return lit
}

/** The span that an arrow key leads to: up to the cause, down to the first effect, sideways to siblings. */
function neighbourInTree({ parents, sizes }: SpanRows, at: number, key: string): number | undefined {
  const count = parents.length
  if (count === 0) return undefined
  if (key === 'Home') return 0
  if (key === 'End') return count - 1
  if (!key.startsWith('Arrow')) return undefined
  if (at < 0) return 0
  const parent = parents[at] ?? -1
  switch (key) {
    case 'ArrowUp':
      return parent < 0 ? at : parent
    case 'ArrowDown':
      return (sizes[at] ?? 1) > 1 ? at + 1 : at
    case 'ArrowRight':
      return Math.min(count - 1, at + (sizes[at] ?? 1))
    default: {
      let sibling = at - 1
      while (sibling > parent && (parents[sibling] ?? -1) !== parent) sibling = parents[sibling] ?? -1
      return Math.max(0, sibling)
    }
  }
}
