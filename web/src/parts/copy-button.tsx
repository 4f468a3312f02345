import { useState } from 'preact/hooks'

/** Copies a text and confirms it. */
export function CopyButton({ text, what, says = 'Copy' }: { text: string; what: string; says?: string }) {
  const [said, setSaid] = useState('')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid('Copied')
    } catch {
      setSaid('Not allowed')
    }
    setTimeout(() => setSaid(''), 2_000)
  }
  return (
    <button type="button" class="quiet copy" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      {said === '' ? says : said}
      <span class="visually-hidden" role="status">
        {said}
      </span>
    </button>
  )
}
