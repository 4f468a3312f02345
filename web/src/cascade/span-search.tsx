import { go, hrefWith } from '../app/address.ts'

interface SpanSearchProps {
  text: string
  /** The spans that match, by position. */
  found: readonly number[]
  chosen: number
  onChoose: (span: number) => void
}

/** Searches spans by all their texts. Enter goes to the next match. */
export function SpanSearch({ text, found, chosen, onChoose }: SpanSearchProps) {
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
export function nextOf(spans: readonly number[], chosen: number, isBack = false): number | undefined {
  return isBack
    ? (spans.findLast((at) => at < chosen) ?? spans.at(-1))
    : (spans.find((at) => at > chosen) ?? spans[0])
}
