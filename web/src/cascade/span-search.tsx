import { useMemo } from 'preact/hooks'
import { go, hrefWith } from '../app/address.ts'
import { matches, type SpanRows } from './span-rows.ts'

interface SpanSearchProps {
  rows: SpanRows
  text: string
  chosen: number
  onChoose: (span: number) => void
}

/** Looks for spans by name, service, cluster, user, cause, object or CPID; Enter goes from one to the next. */
export function SpanSearch({ rows, text, chosen, onChoose }: SpanSearchProps) {
  const found = useMemo(() => {
    const sought = text.trim().toLowerCase()
    if (sought === '') return []
    return rows.spans.flatMap((span, at) => (matches(span, sought) ? [at] : []))
  }, [rows, text])
  const step = (isBack: boolean) => {
    const next = isBack
      ? (found.findLast((at) => at < chosen) ?? found.at(-1))
      : (found.find((at) => at > chosen) ?? found[0])
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
        placeholder="Search spans"
        value={text}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => go(hrefWith({ q: event.currentTarget.value }), { replace: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey)
        }}
      />
      {text.trim() !== '' && (
        <span class="muted number" role="status">
          {found.length === 0
            ? 'none'
            : `${found.includes(chosen) ? `${found.indexOf(chosen) + 1} of ` : ''}${found.length.toLocaleString('en')}`}
        </span>
      )}
    </div>
  )
}
