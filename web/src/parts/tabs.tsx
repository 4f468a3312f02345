import { useEffect, useRef } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'

interface TabsProps {
  /** The name of each tab, by the value of `view` in the address. */
  names: Readonly<Record<string, string>>
  current: string
}

/** Views of the same thing. The arrow keys move between them. */
export function Tabs({ names, current }: TabsProps) {
  const keys = Object.keys(names)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const tab = list.current?.querySelector(`[data-view="${current}"]`)
    tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  const choose = (view: string) => go(hrefWith({ view: view === keys[0] ? null : view }))
  return (
    <div
      class="tabs"
      ref={list}
      role="tablist"
      aria-label="Views"
      onKeyDown={(event) => {
        const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
        const next = keys.at((keys.indexOf(current) + step) % keys.length)
        if (step === 0 || next === undefined) return
        choose(next)
        event.currentTarget.querySelector<HTMLElement>(`[data-view="${next}"]`)?.focus()
      }}
    >
      {Object.entries(names).map(([view, name]) => (
        <button
          key={view}
          type="button"
          role="tab"
          data-view={view}
          aria-selected={view === current}
          aria-controls="panel"
          tabIndex={view === current ? 0 : -1}
          onClick={() => choose(view)}
        >
          {name}
        </button>
      ))}
    </div>
  )
}
