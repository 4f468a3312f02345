import { useEffect, useRef, useState } from 'preact/hooks'
import { ServiceMark } from '../parts/service-mark.tsx'
import { duration } from '../text/duration.ts'
import type { Viewport } from './viewport.ts'

/** A log record or an Event of Kubernetes. */
export interface TimelineEvent {
  readonly offsetMs: number
  readonly severity: string
  /** A warning or worse. */
  readonly isBad: boolean
  readonly service: string
  /** Its reason and what it is about; empty for most log records. */
  readonly title: string
  readonly text: string
}

interface EventStripProps {
  events: readonly TimelineEvent[]
  isTruncated: boolean
  isLoading: boolean
  view: Viewport
  hasGutter: boolean
}

/** As wide as a button that can be hit. */
const GROUP_WIDTH = 24
const SHOWN = 200

/**
 * Events on the time axis. Those that are close together share a button, which opens their list. The strip has its place before they are
 * loaded, so that nothing below it moves.
 */
export function EventStrip({ events, isTruncated, isLoading, view, hasGutter }: EventStripProps) {
  const strip = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [chosen, setChosen] = useState<number>()
  useEffect(() => {
    const { current } = strip
    if (current === null) return
    const watch = new ResizeObserver(() => setWidth(current.clientWidth))
    watch.observe(current)
    return () => watch.disconnect()
  }, [])
  const groups = groupsOf(events, view, Math.max(2, Math.floor(width / GROUP_WIDTH)))
  const open = groups.find(({ place }) => place === chosen)
  return (
    <>
      <div class={hasGutter ? 'event-strip with-gutter' : 'event-strip'}>
        <div class="event-track" ref={strip} role="group" aria-label="Events and logs in time">
          {events.length === 0 && !isLoading && <span class="muted hint">No events and no logs.</span>}
          {events.map(({ offsetMs, isBad }, at) => {
            const share = (offsetMs - view.fromMs) / (view.toMs - view.fromMs)
            return share < 0 || share > 1 ? null : (
              <span
                key={at}
                class={isBad ? 'event-tick bad' : 'event-tick'}
                style={{ left: `${100 * share}%` }}
              />
            )
          })}
          {width > 0 &&
            groups.map((group) => (
              <GroupButton
                key={group.place}
                group={group}
                of={Math.max(2, Math.floor(width / GROUP_WIDTH))}
                isOpen={group === open}
                onToggle={() => setChosen(group === open ? undefined : group.place)}
              />
            ))}
        </div>
      </div>
      {open !== undefined && (
        <div class="event-list">
          <EventList events={open.events} />
          {isTruncated && <p class="muted">There are more than 1,000 events; these are the first.</p>}
        </div>
      )}
    </>
  )
}

interface Group {
  /** Its place in the strip, counted from the left; -1 and Infinity for what is before and after the visible time. */
  readonly place: number
  readonly events: readonly TimelineEvent[]
}

function groupsOf(events: readonly TimelineEvent[], { fromMs, toMs }: Viewport, count: number): Group[] {
  const groups = new Map<number, TimelineEvent[]>()
  // The outermost places are for what is not in view.
  for (const event of events) {
    const share = (event.offsetMs - fromMs) / (toMs - fromMs)
    const place = share < 0 ? -1 : share > 1 ? Infinity : Math.min(count - 1, Math.floor(share * count))
    const group = groups.get(place)
    if (group === undefined) groups.set(place, [event])
    else group.push(event)
  }
  return [...groups].map(([place, of]) => ({ place, events: of })).sort((a, b) => a.place - b.place)
}

interface GroupButtonProps {
  group: Group
  of: number
  isOpen: boolean
  onToggle: () => void
}

function GroupButton({ group: { place, events }, of, isOpen, onToggle }: GroupButtonProps) {
  const bad = events.filter(({ isBad }) => isBad).length
  const [first] = events
  const named = events.find(({ isBad }) => isBad) ?? first
  const where =
    place === -1 ? 'before what is in view' : place === Infinity ? 'after what is in view' : undefined
  const count = events.length === 1 ? '1 event' : `${events.length} events`
  const label =
    `${count} ${where ?? `from ${duration(first?.offsetMs ?? 0)}`}` +
    `${bad > 0 ? `, ${bad} of them warnings or errors` : ''}: ${named?.title || named?.text}`
  const text = `${bad > 0 ? '!' : ''}${events.length}`
  const left = place === -1 ? 0 : place === Infinity ? 100 : ((place + 0.5) / of) * 100
  return (
    <button
      type="button"
      class={`event-group ${bad > 0 ? 'bad' : ''}`}
      aria-expanded={isOpen}
      aria-label={label}
      title={label}
      style={{ left: `${left}%` }}
      onClick={onToggle}
    >
      {place === -1 ? `‹${text}` : place === Infinity ? `${text}›` : text}
    </button>
  )
}

/** All events, on request: beside a table, which has no time axis. */
export function EventDetails({ events, isTruncated }: Pick<EventStripProps, 'events' | 'isTruncated'>) {
  if (events.length === 0) return null
  return (
    <details>
      <summary>
        Events and logs ({isTruncated ? 'the first ' : ''}
        {events.length.toLocaleString('en')})
      </summary>
      <EventList events={events} />
    </details>
  )
}

/** Events as a list, in time. */
function EventList({ events }: { events: readonly TimelineEvent[] }) {
  return (
    <>
      <ul class="records logs" aria-label="Events and logs">
        {events.slice(0, SHOWN).map((event, at) => (
          <li key={at} class={event.isBad ? 'bad' : ''}>
            <span class="number muted">{duration(event.offsetMs)}</span>{' '}
            <span class="severity">{event.severity}</span> <ServiceMark service={event.service} />{' '}
            {event.title !== '' && <strong>{event.title}</strong>}
            <p class="text">{event.text}</p>
          </li>
        ))}
      </ul>
      {events.length > SHOWN && <p class="muted">And {events.length - SHOWN} more.</p>}
    </>
  )
}
